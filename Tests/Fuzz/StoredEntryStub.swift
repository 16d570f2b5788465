// Stands in for the disk tier: what is fuzzed names the type and never touches one.
package final class StoredEntry: Sendable {}

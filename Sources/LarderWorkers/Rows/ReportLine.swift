/// One line of the report: a JSON object of a row and its result, keys in the order of the documentation.
package enum ReportLine {
    /// Appends the line with its line feed.
    ///
    /// - Parameter duplicateOf: the row that this one repeats. Its image was fetched for that row: here it comes
    ///   from the disk.
    package static func append(_ row: Row, _ result: RowResult, duplicateOf: Int? = nil, to bytes: inout [UInt8]) {
        var line = JSONWriter(bytes)
        bytes = []
        line.raw("{")
        line.member("row", row.number)
        if let id = row.id { line.member("id", id) }
        line.member("url", row.url)
        switch result.outcome {
        case .success(let source):
            line.raw(",\"phase\":\"success\",\"source\":\"")
            line.raw((duplicateOf == nil ? source : .disk).name)
            line.raw("\"")
        case .failure: line.raw(",\"phase\":\"failure\"")
        }
        if !result.tail.isEmpty {
            line.raw(",")
            line.raw(result.tail)
        }
        if !result.isSuccess, row.hasWants {
            // For a retry without the manifest.
            line.raw(",\"wanted\":{")
            line.wants(of: row)
            line.raw("}")
        }
        if let duplicateOf { line.member("duplicate_of", duplicateOf) }
        if !row.input.isEmpty {
            line.raw(",\"input\":")
            line.raw(row.input)
        }
        line.raw("}\n")
        bytes = line.bytes
    }
}

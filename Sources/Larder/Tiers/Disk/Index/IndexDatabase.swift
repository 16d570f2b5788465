import CSQLite
import Glibc

/// One connection to the index. Not for use from two threads at once; blocks.
final class IndexDatabase {
    /// In `user_version`. Another one, older or newer, is not read: the index is derived, and made anew.
    static let schemaVersion: Int32 = 1
    private static let applicationID: Int32 = 0x4C52_4458  // "LRDX"
    /// Of pages, in KiB: what bounds the memory of a million entries.
    private static let cacheKibibytes = 8192

    /// Rows are in the order of use: `seq` is the time of last use on the cache's clock in milliseconds, times
    /// 2^20, made unique in its low bits. So the least recently used are the first rows of the table, and a use
    /// moves a row to its end. `id` and `low` are the two halves of the key's hash.
    private static let schema = """
        CREATE TABLE entries(seq INTEGER PRIMARY KEY, id INTEGER NOT NULL, low INTEGER NOT NULL,
            bytes INTEGER NOT NULL, length INTEGER NOT NULL, stored INTEGER NOT NULL, aged INTEGER NOT NULL,
            expires INTEGER NOT NULL, modified INTEGER NOT NULL, private INTEGER NOT NULL, url TEXT NOT NULL, variant TEXT, format TEXT,
            width INTEGER, height INTEGER);
        CREATE UNIQUE INDEX by_id ON entries(id);
        CREATE TABLE failures(id INTEGER PRIMARY KEY, low INTEGER NOT NULL, code TEXT NOT NULL,
            url TEXT NOT NULL, since INTEGER NOT NULL, until INTEGER NOT NULL);
        CREATE TABLE meta(name TEXT PRIMARY KEY, value INTEGER NOT NULL) WITHOUT ROWID;
        """

    struct Failure: Error, CustomStringConvertible {
        let code: Int32
        let message: String
        var description: String { message }

        /// Whether the database itself is of no use, not the disk or the moment.
        var isFatal: Bool {
            [SQLITE_CORRUPT, SQLITE_NOTADB, SQLITE_SCHEMA, SQLITE_ERROR, SQLITE_MISMATCH]
                .contains(code & 0xFF)
        }
        /// errno of the fault of the disk behind it.
        var systemCode: Int32? {
            switch code & 0xFF {
            case SQLITE_FULL: ENOSPC
            case SQLITE_READONLY: EROFS
            case SQLITE_IOERR, SQLITE_CANTOPEN: EIO
            case SQLITE_BUSY: EAGAIN
            default: nil
            }
        }
        var isConstraint: Bool { code & 0xFF == SQLITE_CONSTRAINT }
        var isBusy: Bool { code & 0xFF == SQLITE_BUSY }
    }

    private let handle: OpaquePointer
    private var statements: [String: Statement] = [:]
    /// The one that ran last.
    private var last: (sql: String, statement: Statement)?

    /// Opens the database of that path, which no symbolic link may lead to.
    ///
    /// - Parameters:
    ///   - creates: makes it with its schema where it is new; otherwise it must be there.
    ///   - readOnly: takes it for a file that nobody changes, and needs no files beside it.
    init(path: String, creates: Bool, readOnly: Bool = false) throws(Failure) {
        var opened: OpaquePointer?
        var flags = SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_NOFOLLOW | SQLITE_OPEN_EXRESCODE
        flags |= readOnly ? SQLITE_OPEN_READONLY | SQLITE_OPEN_URI : SQLITE_OPEN_READWRITE
        if creates { flags |= SQLITE_OPEN_CREATE }
        let code = sqlite3_open_v2(readOnly ? Self.immutable(path) : path, &opened, flags, nil)
        guard code == SQLITE_OK, let opened else {
            sqlite3_close_v2(opened)
            throw Failure(code: code, message: String(cString: sqlite3_errstr(code)))
        }
        handle = opened
        sqlite3_busy_timeout(handle, 10_000)
        guard larder_sqlite_defend(handle) == SQLITE_OK else { throw failure(SQLITE_MISUSE) }
        if !readOnly {
            try execute("PRAGMA journal_mode=WAL; PRAGMA synchronous=NORMAL; PRAGMA wal_autocheckpoint=4000;")
        }
        try execute("PRAGMA cache_size=-\(Self.cacheKibibytes); PRAGMA cell_size_check=ON;")
        try execute("PRAGMA journal_size_limit=16777216;")
        if try number("PRAGMA user_version") == 0, creates {
            try transaction { () throws(Failure) in
                // Another process may have been quicker.
                guard try number("PRAGMA user_version") == 0 else { return }
                try execute(Self.schema)
                try execute("PRAGMA application_id=\(Self.applicationID); PRAGMA user_version=\(Self.schemaVersion);")
            }
        }
        guard try number("PRAGMA user_version") == Int64(Self.schemaVersion),
            try number("PRAGMA application_id") == Int64(Self.applicationID)
        else { throw Failure(code: SQLITE_SCHEMA, message: "an index of another version") }
        // Every table and column that is used must be there: a foreign schema fails here.
        _ = try number("SELECT count(seq) FROM (SELECT seq, id, low, bytes, aged, modified FROM entries LIMIT 1)")
        _ = try number("SELECT count(id) FROM (SELECT id, low, code, url, since, until FROM failures LIMIT 1)")
        _ = try number("SELECT count(name) FROM (SELECT name, value FROM meta LIMIT 1)")
    }

    /// The path as a URI of a file that is not changed.
    private static func immutable(_ path: String) -> String {
        var text = "file:"
        for byte in path.utf8 {
            let isPlain = byte < 0x80 && !"?#%".utf8.contains(byte)
            text += isPlain ? String(UnicodeScalar(byte)) : "%" + [byte].hex
        }
        return text + "?immutable=1"
    }

    deinit {
        last = nil
        statements.removeAll()
        sqlite3_close_v2(handle)
    }

    private func failure(_ code: Int32) -> Failure {
        Failure(code: code, message: String(cString: sqlite3_errmsg(handle)))
    }

    func execute(_ sql: String) throws(Failure) {
        let code = sqlite3_exec(handle, sql, nil, nil, nil)
        if code != SQLITE_OK { throw failure(code) }
    }

    /// Runs `body` within one write transaction; undone where it throws.
    func transaction<Result>(_ body: () throws(Failure) -> Result) throws(Failure) -> Result {
        try execute("BEGIN IMMEDIATE")
        do throws(Failure) {
            let result = try body()
            try execute("COMMIT")
            return result
        } catch {
            try? execute("ROLLBACK")
            throw error
        }
    }

    /// Runs a statement to its end with values bound in order; `row` sees each row and answers whether to go on.
    func run(
        _ sql: String, _ values: [Value] = [], _ row: (Row) -> Bool = { _ in true }
    ) throws(Failure) {
        let statement = try prepared(sql)
        defer { statement.reset() }
        for (index, value) in values.enumerated() {
            let code = statement.bind(value, at: Int32(index + 1))
            if code != SQLITE_OK { throw failure(code) }
        }
        while true {
            switch sqlite3_step(statement.handle) {
            case SQLITE_ROW: if !row(Row(handle: statement.handle)) { return }
            case SQLITE_DONE: return
            case let code: throw failure(code)
            }
        }
    }

    /// The first column of the first row; 0 where there is none.
    func number(_ sql: String, _ values: [Value] = []) throws(Failure) -> Int64 {
        var result: Int64 = 0
        try run(sql, values) { row in
            result = row.integer(0)
            return false
        }
        return result
    }

    /// Rows that the last statement changed.
    var changes: Int { Int(sqlite3_changes(handle)) }

    func meta(_ name: String) throws(Failure) -> Int64 {
        try number("SELECT value FROM meta WHERE name=?", [.text(name)])
    }

    func setMeta(_ name: String, _ value: Int64) throws(Failure) {
        try run("INSERT OR REPLACE INTO meta(name, value) VALUES(?, ?)", [.text(name), .integer(value)])
    }

    enum Value {
        case integer(Int64)
        case text(String)
        case null

        init(_ number: Int?) { self = number.map { .integer(Int64($0)) } ?? .null }
        init(_ text: String?) { self = text.map { .text($0) } ?? .null }
    }

    /// The row at hand; valid within the call it is given to.
    struct Row {
        fileprivate let handle: OpaquePointer
        func integer(_ column: Int32) -> Int64 { sqlite3_column_int64(handle, column) }
        func isNull(_ column: Int32) -> Bool { sqlite3_column_type(handle, column) == SQLITE_NULL }
        func text(_ column: Int32) -> String? { sqlite3_column_text(handle, column).map { String(cString: $0) } }
    }

    private final class Statement {
        let handle: OpaquePointer
        init(_ handle: OpaquePointer) { self.handle = handle }
        deinit { sqlite3_finalize(handle) }

        func reset() {
            sqlite3_reset(handle)
            sqlite3_clear_bindings(handle)
        }

        func bind(_ value: Value, at index: Int32) -> Int32 {
            switch value {
            case .integer(let number): return sqlite3_bind_int64(handle, index, number)
            case .null: return sqlite3_bind_null(handle, index)
            case .text(var text):
                return text.withUTF8 { bytes in
                    bytes.withMemoryRebound(to: CChar.self) { chars in
                        larder_sqlite_bind_text(handle, index, chars.baseAddress, Int32(clamping: chars.count))
                    }
                }
            }
        }
    }

    private func prepared(_ sql: String) throws(Failure) -> Statement {
        // A batch runs the same again and again: told by its place in memory, without hashing its text.
        if let last, last.sql == sql { return last.statement }
        if let statement = statements[sql] {
            last = (sql, statement)
            return statement
        }
        var handle: OpaquePointer?
        let code = sqlite3_prepare_v3(self.handle, sql, -1, UInt32(SQLITE_PREPARE_PERSISTENT), &handle, nil)
        guard code == SQLITE_OK, let handle else { throw failure(code) }
        let statement = Statement(handle)
        statements[sql] = statement
        return statement
    }
}

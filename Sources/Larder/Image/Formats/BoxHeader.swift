/// The head of a box of an ISO base media file (ISO/IEC 14496-12, section 4.2).
struct BoxHeader {
    let type: String
    /// The offset of what the box holds.
    var body: Int
    /// The offset behind the box, or nil where it reaches to the end of the file.
    let end: Int?

    init(_ bytes: ByteWindow, _ offset: Int) throws(HeaderStop) {
        var size = try bytes.u32(offset)
        type = try bytes.tag(offset + 4)
        body = offset + 8
        if size == 1 {
            size = try bytes.u64(offset + 8)
            body += 8
        }
        guard size != 0 else {
            end = nil
            return
        }
        let (last, overflow) = offset.addingReportingOverflow(size)
        guard !overflow, last >= body else { throw .corrupt("a box of \(size) bytes") }
        end = last
    }
}

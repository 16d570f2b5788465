// libFuzzer over everything that reads what a client wrote. Built by server.sh, not by the package.
@_cdecl("LLVMFuzzerTestOneInput")
public func fuzzServer(_ data: UnsafePointer<UInt8>, _ count: Int) -> CInt {
    FuzzedRequest.run(Array(UnsafeBufferPointer(start: data, count: count)))
    return 0
}

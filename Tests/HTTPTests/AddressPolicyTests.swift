import Foundation
import Testing

@testable import Larder

@Suite struct AddressPolicyTests {
    @Test(arguments: [
        "1.1.1.1", "8.8.8.8", "9.255.255.255", "11.0.0.0", "100.63.255.255", "100.128.0.0", "126.255.255.255",
        "128.0.0.1", "169.253.255.255", "169.255.0.0", "172.15.255.255", "172.32.0.0", "192.0.1.0", "192.0.3.0",
        "192.167.255.255", "192.169.0.0", "198.17.255.255", "198.20.0.0", "198.51.99.255", "203.0.112.0",
        "223.255.255.255", "2606:4700::1111", "2001:4860:4860::8888", "2a00:1450::1", "::ffff:8.8.8.8",
        "64:ff9b::808:808", "2002:808:808::1", "2001:200::1", "2001:db7:ffff::1", "2001:db9::1", "3ffe::1",
    ])
    func permitsPublicAddresses(text: String) throws {
        let address = try #require(AddressPolicy.literal(text))
        #expect(AddressPolicy.publicOnly.permits(address))
        #expect(permitsSocketAddress(address))
    }

    @Test(arguments: [
        "0.0.0.0", "0.1.2.3", "10.0.0.1", "10.255.255.255", "100.64.0.0", "100.127.255.255", "127.0.0.1",
        "127.255.255.255", "169.254.169.254", "172.16.0.0", "172.31.255.255", "192.0.0.1", "192.0.2.1", "192.31.196.1",
        "192.52.193.1", "192.88.99.1", "192.168.0.1", "192.175.48.1", "198.18.0.0", "198.19.255.255", "198.51.100.1",
        "203.0.113.1", "224.0.0.1", "239.255.255.255", "240.0.0.1", "255.255.255.255",
        "::", "::1", "::127.0.0.1", "::8.8.8.8", "::ffff:127.0.0.1", "::ffff:10.0.0.1", "::ffff:0:127.0.0.1",
        "64:ff9b::7f00:1", "64:ff9b::a00:1", "64:ff9b:1::1", "100::1", "2001::1", "2001:0:4136:e378::1", "2001:2::1",
        "2001:10::1", "2001:20::1", "2001:1ff:ffff::1", "2001:db8::1", "2002:7f00:1::1", "2002:a00:1::1",
        "2002:c0a8:1::1", "3fff::1", "3fff:fff::1", "4000::1", "5f00::1", "fc00::1", "fdff::1", "fe80::1", "febf::1",
        "fec0::1", "ff02::1", "1::1", "e000::1",
    ])
    func refusesEveryOtherAddress(text: String) throws {
        let address = try #require(AddressPolicy.literal(text))
        #expect(!AddressPolicy.publicOnly.permits(address))
        #expect(!permitsSocketAddress(address))
        #expect(AddressPolicy.any.permits(address))
    }

    private func permitsSocketAddress(_ bytes: [UInt8]) -> Bool {
        var storage = sockaddr_storage()
        return withUnsafeMutablePointer(to: &storage) { storage in
            if bytes.count == 4 {
                storage.withMemoryRebound(to: sockaddr_in.self, capacity: 1) {
                    $0.pointee.sin_family = sa_family_t(AF_INET)
                    withUnsafeMutableBytes(of: &$0.pointee.sin_addr) { $0.copyBytes(from: bytes) }
                }
            } else {
                storage.withMemoryRebound(to: sockaddr_in6.self, capacity: 1) {
                    $0.pointee.sin6_family = sa_family_t(AF_INET6)
                    withUnsafeMutableBytes(of: &$0.pointee.sin6_addr) { $0.copyBytes(from: bytes) }
                }
            }
            return storage.withMemoryRebound(to: sockaddr.self, capacity: 1) { AddressPolicy.publicOnly.permits($0) }
        }
    }

    @Test func refusesOtherFamiliesAndLengths() {
        var address = sockaddr()
        address.sa_family = sa_family_t(AF_UNIX)
        #expect(!AddressPolicy.publicOnly.permits(&address))
        #expect(AddressPolicy.any.permits(&address))
        #expect(!AddressPolicy.publicOnly.permits([8, 8, 8]))
    }

    /// Spellings of 127.0.0.1 that name it all the same.
    @Test(arguments: ["127.0.0.1", "127.1", "0x7f000001", "2130706433", "0177.0.0.1", "127.0.0.1."])
    func readsEverySpellingOfAnAddress(text: String) {
        #expect(AddressPolicy.literal(text) == [127, 0, 0, 1])
    }

    @Test(arguments: ["localhost", "example.com", "1.2.3.4.example", "", "256.1.1.1", "127.0.0.1 x", "::g"])
    func takesANameForNoAddress(text: String) {
        #expect(AddressPolicy.literal(text) == nil)
    }

    @Test func readsBracketsAndZones() {
        #expect(AddressPolicy.literal("[::1]") == AddressPolicy.literal("::1"))
        #expect(AddressPolicy.literal("fe80::1%eth0") == AddressPolicy.literal("fe80::1"))
    }

    @Test func looksNamesUp() {
        #expect(throws: ImageError.self) { try AddressPolicy.publicOnly.check(host: "localhost") }
        #expect(throws: Never.self) { try AddressPolicy.any.check(host: "localhost") }
        #expect(throws: Never.self) { try AddressPolicy.publicOnly.check(host: "8.8.8.8") }
    }
}

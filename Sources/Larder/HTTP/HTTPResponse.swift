import Foundation

/// The response at the end of the redirects.
public struct HTTPResponse: Sendable {
    /// Three digits.
    public var status: Int
    /// The header fields.
    public var fields: HTTPFields
    /// The URL that answered, without user info and fragment.
    public var url: URL
    /// How many redirects led there.
    public var redirects: Int
    /// The address that answered, or nil where the transport cannot tell.
    public var remoteAddress: String?
    /// The status and fields' body: see ``ResponseBody``.
    public var body: ResponseBody

    package init(_ response: TransportResponse, url: URL, redirects: Int) {
        status = response.status
        fields = response.fields
        self.url = url
        self.redirects = redirects
        remoteAddress = response.remoteAddress
        body = response.body
    }
}

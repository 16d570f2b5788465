import Larder

/// What is known of one request while it is answered.
struct Visit: Sendable {
    let request: Request
    let route: Route
    /// In metrics and the access log.
    let name: Route.Name
    /// Whether the client holds the token, or the holder of the key has asked.
    let isTrusted: Bool
    let mayReadPrivate: Bool
    /// Whether a cache that serves several people may keep the answer.
    let isShareable: Bool
    /// When the request came.
    let epoch: Int

    init(
        _ request: Request, _ route: Route, _ standing: AccessControl.Standing, _ access: AccessControl, epoch: Int
    ) {
        self.request = request
        self.route = route
        self.epoch = epoch
        name = route.name
        isTrusted = standing > .anonymous || route.isSigned
        mayReadPrivate = standing > .anonymous
        isShareable = access.allowsSharedCaching(route)
    }
}

extension Route {
    /// Whether the holder of the key has asked for it.
    var isSigned: Bool { if case .image(_, _, .signature) = self { true } else { false } }
}

import Foundation

extension ImageError: LocalizedError, CustomStringConvertible {
    /// ``message(in:)`` in the language of the environment.
    public var errorDescription: String? { message() }

    /// For logs: the code, the URL and the technical detail, in English.
    public var description: String {
        var text = code
        if case .httpStatus(let status, _) = self { text += " \(status)" }
        if let url { text += " \(url)" }
        return details.detail.isEmpty ? text : text + ": " + details.detail
    }

    /// A short message for people that says what they can do. Names no technical detail.
    public func message(in language: MessageLanguage = .current) -> String {
        switch language {
        case .english: englishMessage
        case .korean: koreanMessage
        }
    }

    private var englishMessage: String {
        switch self {
        case .invalidURL:
            "This is not a usable web address. Check its spelling; it must begin with http:// or https://."
        case .refused(let refusal, _):
            switch refusal {
            case .scheme: "Only http and https addresses are loaded. Use one of these."
            case .host: "This host is not allowed. Allow it in the settings if you trust it."
            case .address: "The address lies in a network that is not allowed. Use a public one."
            case .redirect:
                "The server sends the request around in circles or to a forbidden place. Use the final address."
            case .robots: "The site asks programs not to load this image."
            case .filter: "The image does not pass the filters that were asked for."
            case .busy: "Too much is waiting already. Try again in a moment."
            }
        case .unreachable: "The server cannot be reached. Check the network connection and try again."
        case .timedOut: "The server takes too long. Try again later or allow more time."
        case .httpStatus(let status, _):
            switch status {
            case 401, 407: "The server asks for a login (status \(status)). Send the credentials with the request."
            case 403: "The server refuses access to this image (status 403). Check the permission."
            case 404, 410: "There is no image at this address (status \(status)). Check the address."
            case 408, 429: "The server asks for patience (status \(status)). Try again later."
            case 500...: "The server has a fault of its own (status \(status)). Try again later."
            default: "The server did not send an image (status \(status)). Check the address."
            }
        case .truncated: "Only a part of the image arrived. Try again."
        case .notAnImage: "What is there is not an image. Check the address."
        case .unsupportedFormat: "This kind of image cannot be decoded here. Convert it to JPEG or PNG."
        case .corrupt: "The image is damaged. Get it again from its source."
        case .tooLarge: "The image is larger than allowed. Raise the limit if you trust it."
        case .hashMismatch: "The image is not the one that was expected. Check the address and the expected SHA-256."
        case .cacheUnavailable: "The cache directory cannot be used. Check its permissions and the free space."
        case .notCached: "The image is not stored, and the network may not be used. Load it once while online."
        case .cancelled: "Loading was cancelled."
        }
    }

    private var koreanMessage: String {
        switch self {
        case .invalidURL: "올바른 웹 주소가 아닙니다. 철자를 확인하세요. http:// 또는 https://로 시작해야 합니다."
        case .refused(let refusal, _):
            switch refusal {
            case .scheme: "http와 https 주소만 불러올 수 있습니다. 둘 중 하나를 사용하세요."
            case .host: "허용되지 않은 호스트입니다. 믿을 수 있다면 설정에서 허용하세요."
            case .address: "허용되지 않은 네트워크의 주소입니다. 공개 주소를 사용하세요."
            case .redirect: "서버가 요청을 계속 돌려보내거나 금지된 곳으로 보냅니다. 최종 주소를 사용하세요."
            case .robots: "이 사이트는 프로그램이 이 이미지를 불러오지 않기를 바랍니다."
            case .filter: "요청한 조건에 맞지 않는 이미지입니다."
            case .busy: "대기 중인 작업이 너무 많습니다. 잠시 후 다시 시도하세요."
            }
        case .unreachable: "서버에 연결할 수 없습니다. 네트워크 연결을 확인하고 다시 시도하세요."
        case .timedOut: "서버의 응답이 너무 늦습니다. 나중에 다시 시도하거나 제한 시간을 늘리세요."
        case .httpStatus(let status, _):
            switch status {
            case 401, 407: "서버가 로그인을 요구합니다(상태 \(status)). 요청에 인증 정보를 함께 보내세요."
            case 403: "서버가 이 이미지에 대한 접근을 거부했습니다(상태 403). 권한을 확인하세요."
            case 404, 410: "이 주소에는 이미지가 없습니다(상태 \(status)). 주소를 확인하세요."
            case 408, 429: "서버가 기다려 달라고 합니다(상태 \(status)). 나중에 다시 시도하세요."
            case 500...: "서버에 문제가 있습니다(상태 \(status)). 나중에 다시 시도하세요."
            default: "서버가 이미지를 보내지 않았습니다(상태 \(status)). 주소를 확인하세요."
            }
        case .truncated: "이미지의 일부만 도착했습니다. 다시 시도하세요."
        case .notAnImage: "이 주소의 내용은 이미지가 아닙니다. 주소를 확인하세요."
        case .unsupportedFormat: "여기서는 해독할 수 없는 이미지 형식입니다. JPEG나 PNG로 변환하세요."
        case .corrupt: "손상된 이미지입니다. 원본에서 다시 받으세요."
        case .tooLarge: "이미지가 허용된 크기보다 큽니다. 믿을 수 있다면 제한을 늘리세요."
        case .hashMismatch: "기대한 이미지가 아닙니다. 주소와 SHA-256 값을 확인하세요."
        case .cacheUnavailable: "캐시 디렉터리를 사용할 수 없습니다. 권한과 남은 공간을 확인하세요."
        case .notCached: "저장된 이미지가 없고 네트워크를 사용할 수 없습니다. 온라인일 때 한 번 불러오세요."
        case .cancelled: "불러오기가 취소되었습니다."
        }
    }
}

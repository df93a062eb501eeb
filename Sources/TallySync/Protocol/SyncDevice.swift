/// The introduction of a device to its peers: the name that people gave it, and the app that runs there.
///
/// ```swift
/// var settings = SyncEngine.Settings()
/// settings.device = SyncDevice(name: "Ann's laptop", app: "Scores 2.1")
/// let engine = SyncEngine(store, settings)
/// ```
///
/// It is sent to every peer of a session and nowhere else: mailboxes and files contain no names of devices. Peers show
/// it as ``PeerStatus/device`` and keep it as ``KnownDevice/device``. It is not verified, so it is not an identity. A
/// store whose engine or session has one also remembers the devices that it meets: ``Store/devices()``.
public struct SyncDevice: Sendable, Hashable, Codable {
  /// The maximum length of either text, in bytes.
  public static let byteLimit = 128
  /// The name of the device, as people know it.
  public let name: String
  /// The app and its version; empty to keep it private. It is text for people, and nothing depends on it.
  public let app: String

  /// Creates an introduction.
  /// - Parameters:
  ///   - name: the name that people give the device. Every peer sees it, so let them choose it.
  ///   - app: the app and its version; empty to keep it private.
  ///
  /// Control characters are removed, and a text is cut after the last whole character within `byteLimit` bytes of
  /// UTF-8.
  public init(name: String, app: String = "") { (self.name, self.app) = (Self.plain(name), Self.plain(app)) }

  private static func plain(_ text: String) -> String {
    let shown = text.unicodeScalars.filter { $0.properties.generalCategory != .control }
    var result = String.UnicodeScalarView()
    var byteCount = 0
    for scalar in shown {
      byteCount += UTF8.width(scalar)
      guard byteCount <= byteLimit else { break }
      result.append(scalar)
    }
    return String(result)
  }
}

import Foundation
import TallySchema

/// What must be true of the files of a history, in plain dictionaries: which bytes a name stands for, which copies the
/// disk has harmed, when a device could have learned that the place has a file, and when its app has added one.
struct AssetSpecification {
  /// What the disk has made of a copy.
  enum Harm: Equatable {
    case torn, changed
  }

  /// What a device's app, or a backup of its folder, has.
  struct Device {
    /// The copies that are not what their names say, as far as no one has looked.
    var harmed: [AssetName: Harm] = [:]
    /// When the app has added a file last. What has come from elsewhere since is not among them.
    var added: [AssetName: Double] = [:]
    /// When the device has last been at the place while this had a file.
    var seen: [AssetName: Double] = [:]
    /// When the place may last have given the device something wrong.
    var deceived = -Double.infinity
  }

  private(set) var contents: [AssetName: Data] = [:]
  /// The names by those of their files on a device.
  private var files: [String: AssetName] = [:]
  var devices: [Device]
  /// The entries of the place that are not what their names say, and when entries last were not.
  var harmedEntries = Set<AssetName>()
  var doubtful: [AssetName: Double] = [:]
  /// The files of which the disk has destroyed a copy, or a person has had one removed at once. They alone may be lost.
  var excused = Set<AssetName>()

  init(devices: Int) { self.devices = Array(repeating: Device(), count: devices) }

  var names: [AssetName] { contents.keys.sorted { $0.text < $1.text } }

  /// The name of a file, whatever its size is.
  func name(of file: String) -> AssetName? { files[file] }
  static func file(of name: AssetName) -> String { "\(name.hash).\(name.type)" }

  /// Notes which bytes a name stands for.
  mutating func note(_ name: AssetName, _ content: Data) {
    contents[name] = content
    files[Self.file(of: name)] = name
  }

  private static let day = 86_400.0

  /// Why a device must not evict a file; nil if it may.
  func objection(toEviction name: AssetName, _ device: Int, at time: Double, isEager: Bool) -> String? {
    if isEager { return "an eager field shows it" }
    if let added = devices[device].added[name], time - added < 30 * Self.day { return "the app has just added it" }
    guard let seen = devices[device].seen[name], time - seen <= 7 * Self.day + 3_600 else {
      return "the place has not been known to have it for a week"
    }
    return nil
  }
}

import Foundation

/// A disk of a few kibibytes that disappears with the test.
final class SmallDisk {
  let path: String

  /// Whether one can be mounted here.
  static let isPossible: Bool = {
    guard geteuid() == 0 else { return false }
    let path = FileManager.default.temporaryDirectory.appendingPathComponent("tally-probe-\(UUID().uuidString)").path
    defer { rmdir(path) }
    return (try? SmallDisk(at: path, kibibytes: 64)) != nil
  }()

  struct NotMounted: Error {}

  init(at path: String, kibibytes: Int) throws {
    self.path = path
    mkdir(path, 0o755)
    guard Self.run(["/bin/mount", "-t", "tmpfs", "-o", "size=\(kibibytes)k", "tmpfs", path]) else { throw NotMounted() }
  }

  deinit { _ = Self.run(["/bin/umount", path]) }

  func grow(toKibibytes size: Int) throws {
    guard Self.run(["/bin/mount", "-o", "remount,size=\(size)k", path]) else { throw NotMounted() }
  }

  func makeReadOnly() throws {
    guard Self.run(["/bin/mount", "-o", "remount,ro", path]) else { throw NotMounted() }
  }

  private static func run(_ command: [String]) -> Bool {
    let files = Spawn.Files(output: "/dev/null", errors: "/dev/null")
    guard let process = try? Spawn.start(command, in: "/", files: files) else { return false }
    return Spawn.wait(for: process) == 0
  }
}

/// Somebody who owns nothing: root may do everything, so what is forbidden must be tried as another.
enum Stranger {
  static let command = ["/usr/bin/setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"]

  /// Whether the tool can be started as somebody else.
  static let isPossible: Bool = {
    guard geteuid() == 0, access(command[0], X_OK) == 0 else { return false }
    let files = Spawn.Files(output: "/dev/null", errors: "/dev/null")
    guard let process = try? Spawn.start(command + [Bench.tool, "--version"], in: "/", files: files) else {
      return false
    }
    return Spawn.wait(for: process) == 0
  }()
}

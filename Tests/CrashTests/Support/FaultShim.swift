import Foundation

/// The library that stands between the tool and the system (`Shim/faults.c`), built when it is needed.
enum FaultShim {
  /// How a call fails.
  enum How: String, CaseIterable {
    case kill
    case killed
    case inputOutput = "EIO"
    case noSpace = "ENOSPC"
    case short
    var isKill: Bool { self == .kill || self == .killed }
  }

  /// The built library; nil where there is no compiler or libraries cannot be put in front.
  static let library: String? = {
    #if os(Linux)
      guard let source = Bundle.module.path(forResource: "faults", ofType: "c", inDirectory: "Shim") else { return nil }
      let result = FileManager.default.temporaryDirectory.appendingPathComponent("tally-faults-\(getpid()).so").path
      let command =
        "cc -shared -fPIC -O1 -o '\(result)' '\(source)' -ldl 2>&1 || clang -shared -fPIC -O1 -o '\(result)' '\(source)'"
      guard let child = try? Child(["/bin/sh", "-c", command], in: "/", streams: [0, 1, 2]), child.wait() == 0 else {
        return nil
      }
      atexit {
        unlink(FileManager.default.temporaryDirectory.appendingPathComponent("tally-faults-\(getpid()).so").path)
      }
      return result
    #else
      return nil
    #endif
  }()

  /// What the tool must be started with, so that its call of this number under the folder fails.
  static func environment(_ folder: String, at call: Int = 0, _ how: How? = nil, log: String? = nil) -> [String: String]
  {
    var variables = ["LD_PRELOAD": library ?? "", "FAULT_UNDER": folder + "/", "FAULT_AT": "\(call)"]
    if let how { variables["FAULT_HOW"] = how.rawValue }
    if let log { variables["FAULT_LOG"] = log }
    return variables
  }
}

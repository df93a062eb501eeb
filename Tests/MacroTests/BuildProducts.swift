#if Macros
  import Foundation
  import Testing

  /// What the tests were built with.
  struct BuildProducts {
    let folder: URL

    init() throws {
      let test = try #require(CommandLine.arguments.first { $0.contains(".xctest") })
      folder = URL(fileURLWithPath: String(test.prefix(upTo: try #require(test.range(of: ".xctest")).upperBound)))
        .deletingLastPathComponent()
    }

    var plugin: URL { folder.appendingPathComponent("TallyMacroPlugin-tool") }
  }
#endif

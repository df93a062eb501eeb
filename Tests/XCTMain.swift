import Foundation
import Testing

/// Runs the tests, all of which are of Swift Testing.
///
/// SwiftPM takes this program in place of one of its own, for which it has the compiler index every file, in search of
/// tests of XCTest. What SwiftPM asks of XCTest comes here too: a plain `swift test` runs everything.
@main
struct TestProgram {
  static func main() async {
    let arguments = Array(CommandLine.arguments.dropFirst())
    if arguments.contains("swift-testing") || arguments.isEmpty || arguments == ["--testing-library", "xctest"] {
      await Testing.__swiftPMEntryPoint() as Never
    }
    let message = "Choose tests by make test ONLY=NAME, or swift test --enable-swift-testing --disable-xctest\n"
    FileHandle.standardError.write(Data(message.utf8))
    exit(64)
  }
}

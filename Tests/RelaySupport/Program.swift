import Foundation

/// Runs programs of this machine to their end. Blocks meanwhile.
package enum Program {
  /// A program has ended with another status than 0.
  package struct Failure: Error, CustomStringConvertible {
    package let command: String
    package let status: Int32
    /// Its output so far, standard error included.
    package let output: String

    package var description: String { "\(command) ended with \(status): \(output)" }
  }

  /// Runs a program, which is given by its path, or by its name if it is in one of the usual places.
  /// - Returns: what it has said on both outputs, without empty space around it.
  /// - Throws: `Failure`, or what keeps it from being run.
  @discardableResult
  package static func run(_ program: String, _ arguments: [String]) throws -> String {
    let (process, pipe) = (Process(), Pipe())
    process.executableURL = URL(fileURLWithPath: program.hasPrefix("/") ? program : "/usr/bin/env")
    process.arguments = program.hasPrefix("/") ? arguments : [program] + arguments
    process.standardInput = FileHandle.nullDevice
    process.standardOutput = pipe
    process.standardError = pipe
    try process.run()
    let output = String(decoding: pipe.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
    process.waitUntilExit()
    guard process.terminationStatus == 0 else {
      throw Failure(
        command: ([program] + arguments).joined(separator: " "), status: process.terminationStatus, output: output)
    }
    return output.trimmingCharacters(in: .whitespacesAndNewlines)
  }
}

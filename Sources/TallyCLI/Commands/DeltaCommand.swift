import ArgumentParser
import Foundation
import Tally
import TallyCRDT

struct DeltaCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "delta",
    abstract: "Writes what another replica lacks into a file.",
    discussion: """
      The file appears under its name only when it is complete and on disk. It takes the place of an ordinary file; of a store or \
      another database only if --replace names it, and never of what is read.

      Examples:
        tally delta a.tally --since b.tally -o news.delta
        tally delta a.tally -o - | ssh host tally apply b.tally -
      """)

  @OptionGroup var store: StoreArguments
  @Option(help: "A vector, as tally vector prints it, or a store that has one. Without it: everything.") var since:
    String?
  @Option(name: .shortAndLong, help: ArgumentHelp("The file to write, or - for standard output.", valueName: "file"))
  var output: String
  @Option(help: ArgumentHelp("The store or database under the output's name that may go.", valueName: "file"))
  var replace: String?
  @OptionGroup var progress: ProgressOptions

  func run() throws {
    let inputs = [store.store] + [since].compactMap { $0 }
    let rules = NewFile.Rules(inputs: inputs, replacing: replace, offersReplace: true)
    // Before the store is open.
    if output != "-" { try rules.check(output) }
    let base = try since.map(baseVector) ?? StateVector()
    try store.reading { store in
      let bar = Progress("writing the delta", progress, isQuiet: output == "-" && Output.isOnTerminal)
      defer { bar.end() }
      var byteCount = 0
      func tell(_ bytes: [UInt8]) {
        byteCount += bytes.count
        bar.show(nil, SyncProgress.size(UInt64(byteCount)))
      }
      guard output != "-" else {
        return try whole {
          try Output.run { output in
            try store.writeDelta(since: base) {
              tell($0)
              try output.write($0)
            }
          }
        }
      }
      let file = try NewFile(output, rules)
      try whole {
        try store.writeDelta(since: base) {
          tell($0)
          try file.write($0)
        }
        try file.finish()
      }
      bar.end()
      try Output.run { try $0.line("wrote \(file.byteCount) bytes") }
    }
  }

  /// Part of a dump is of use, part of a delta is not: a reader that goes away is an error here.
  private func whole(_ body: () throws -> Void) throws {
    do {
      try body()
    } catch is ReaderWentAway {
      throw Failure(.inputOutput, "nobody reads the delta any more")
    }
  }

  private func baseVector(_ text: String) throws -> StateVector {
    if let vector = StateVector(text) { return vector }
    let isVectorLike = text.utf8.allSatisfy { Hexadecimal.value(of: $0) != nil || $0 == 0x3A || $0 == 0x2C }
    if isVectorLike, access(text, F_OK) != 0 {
      throw Failure(.badData, "\(shown(text)) is neither a vector nor a store")
    }
    return try OpenStore.reading(text, store.waiting.timeout) { try $0.vector }
  }
}

import ArgumentParser
import Tally
import TallyAssets

extension AssetsCommand {
  struct MoveBlobs: ParsableCommand {
    static let configuration = CommandConfiguration(
      commandName: "move-blobs",
      abstract: "Moves what a blob field holds into an asset field of the same records.",
      discussion: """
        Pictures that an older version of an app has put into the database become files. Where both fields have one, the \
        later of the two writes wins. It may be interrupted and run again; without anything to move it writes nothing. \
        Records that a constraint or a trigger refuses to change are named, and the exit code is then 65. \
        tally compact --vacuum gives the room back.

        Example: tally assets move-blobs scores.tally Person image photo --type jpg
        """)

    @OptionGroup var store: StoreArguments
    @Argument(help: "The type of the records.") var entity: String
    @Argument(help: "The field of the kind blob.") var from: String
    @Argument(help: "The field of the kind asset.") var to: String
    @Option(help: "The extension of all files; without it, it is recognized from the first bytes.") var type: String?
    @Flag(help: "Leave the blobs for apps that do not know the asset field.") var keepOldApps = false

    func run() throws {
      try store.writing { store in
        let report = try store.assets.moveBlobs(
          of: entity, from: from, to: to, type: type, keepsOldApps: keepOldApps)
        try Output.run { output in
          try output.line(
            "moved \(count(report.moved, "blob")), \(count(report.byteCount, "byte")); cleared \(report.cleared)")
          for name in report.refused { try output.line("refused \(name)") }
        }
        guard report.refused.isEmpty else {
          throw Failure(.badData, "a constraint or a trigger refuses \(count(report.refused.count, "record"))")
        }
      }
    }
  }
}

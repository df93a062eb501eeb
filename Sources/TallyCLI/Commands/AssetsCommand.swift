import ArgumentParser
import Foundation
import Tally
import TallyAssets
import TallyCRDT
import TallyStore

struct AssetsCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "assets",
    abstract: "Lists, checks and removes the files that records refer to, such as pictures.",
    discussion: """
      The files are in the folder STORE-assets, under names that follow from their content. tally put adds one: image=@FILE.

      Example: tally assets list scores.tally
      """,
    subcommands: [List.self, Get.self, Verify.self, Collect.self, Evict.self, MoveBlobs.self])

  struct List: ParsableCommand {
    static let configuration = CommandConfiguration(
      commandName: "list",
      abstract: "Lists the files that are here, and those that records name.",
      discussion: """
        Each line has the name and then what holds of it: here, if it is on this device; shown, if a record names it that \
        the app sees; elsewhere, if another place has said within the last seven days to have it.

        Example: tally assets list scores.tally
        """)

    @OptionGroup var store: StoreArguments
    @Flag(help: "Print each file as a line of JSON.") var json = false

    func run() throws {
      try store.reading { store in
        let listing = try store.assets.list()
        try Output.run { output in
          for file in listing { try output.line(json ? file.json.text : file.line) }
        }
      }
    }
  }

  struct Get: ParsableCommand {
    static let configuration = CommandConfiguration(
      commandName: "get",
      abstract: "Copies the file that a record's field names.",
      discussion: """
        The exit code is 66 if the record, or a file in its field, is not there, and 75 if the file is not on this device. \
        Then the next tally sync through a place that has it brings it.

        Example: tally assets get scores.tally 'Person|~|ann' photo -o ann.jpg
        """)

    @OptionGroup var store: StoreArguments
    @Argument(help: "The record's name.") var name: String
    @Argument(help: "The field.") var field: String
    @Option(name: .shortAndLong, help: "Where the copy goes.") var output: String

    func run() throws {
      let name = try recordName(name)
      try store.writing { store in
        let (name, schema) = (try store.meant(name), try store.schema)
        let entity = try schema.entity(of: name)
        guard case .field(.asset) = try entity.fieldType(field) else {
          throw Failure(.badData, "\(entity.type).\(shown(field)) is no asset")
        }
        guard let record = try store.read({ try schema.record($0, name) }) else {
          throw StoreError(.noSuchRecord, "no record named \(name)")
        }
        guard case .text(let text)? = record.fields[field], let asset = AssetName(text) else {
          throw Failure(.notFound, "\(shown(name.text)) has no file in \(shown(field))")
        }
        guard let url = try store.assets.url(of: asset) else {
          try store.assets.want(asset)
          throw Failure(.busy, "\(asset) is not on this device; the next sync brings it")
        }
        let (source, copy) = (try AssetSource(url.path, followsLinks: false), try NewFile(output))
        guard try Hexadecimal.text(source.hash { try copy.write(Array($0)) }) == asset.hash else {
          throw Failure(.badData, "the file of \(asset) is damaged; tally assets verify puts it aside")
        }
        try copy.finish()
      }
    }
  }

  struct Verify: ParsableCommand {
    static let configuration = CommandConfiguration(
      commandName: "verify",
      abstract: "Reads all files and checks that they are what their names say.",
      discussion: """
        A damaged file is put into the folder STORE-assets/damaged and comes again with a sync. The exit code is then 65.

        Example: tally assets verify scores.tally
        """)

    @OptionGroup var store: StoreArguments

    func run() throws {
      try store.writing { store in
        let report = try store.assets.verify()
        try Output.run { output in
          try output.line(
            "\(count(report.sound, "file")) sound, \(count(report.byteCount, "byte")); \(report.missing.count) not here"
          )
          for name in report.damaged { try output.line("damaged \(name)") }
          for name in report.unreadable { try output.line("unreadable \(name)") }
        }
        guard report.damaged.isEmpty else {
          throw Failure(.badData, "\(count(report.damaged.count, "file")) damaged and put aside")
        }
        guard report.unreadable.isEmpty else {
          throw Failure(.inputOutput, "\(count(report.unreadable.count, "file")) cannot be read")
        }
      }
    }
  }

  struct Collect: ParsableCommand {
    static let configuration = CommandConfiguration(
      commandName: "collect",
      abstract: "Removes files that no record has named for a day.",
      discussion: """
        A record that can be restored counts, as does an entry of the conflict journal.

        Example: tally assets collect scores.tally
        """)

    @OptionGroup var store: StoreArguments
    @Flag(help: "Remove also what was added within the last day and is in no record.") var now = false

    func run() throws {
      try store.writing { store in
        let removed = try store.assets.collect(isUrgent: now)
        try Output.run { try $0.line("\(count(removed, "file")) removed") }
      }
    }
  }

  struct Evict: ParsableCommand {
    static let configuration = CommandConfiguration(
      commandName: "evict",
      abstract: "Removes files from this device that a folder or relay has.",
      discussion: """
        Only what a place has said within the last seven days to have is removed, and nothing that was added here within \
        the last thirty. Records keep their names.

        Example: tally assets evict scores.tally --keeping 100000000
        """)

    @OptionGroup var store: StoreArguments
    @Option(help: "How many bytes of files may stay.") var keeping = 0

    func validate() throws {
      guard keeping >= 0 else { throw ValidationError("--keeping is less than 0") }
    }

    func run() throws {
      try store.writing { store in
        let removed = try store.assets.evict(keeping: keeping)
        let bytes = removed.reduce(0) { $0 + $1.byteCount }
        try Output.run { try $0.line("\(count(removed.count, "file")) removed, \(count(bytes, "byte"))") }
      }
    }
  }
}

extension AssetListing {
  fileprivate var marks: [(String, Bool)] { [("here", isHere), ("shown", isShown), ("elsewhere", isElsewhere)] }

  fileprivate var line: String { ([name.text] + marks.filter(\.1).map(\.0)).joined(separator: " ") }

  fileprivate var json: JSON {
    .object(["name": .string(name.text)].merging(marks.map { ($0.0, JSON.bool($0.1)) }) { $1 })
  }
}

extension Store {
  /// Adds the files of words such as `photo=@FILE` for assets, and returns the words with their names.
  func addingFiles(_ words: [String], of name: String, _ schema: Schema) throws -> [String] {
    guard let entity = (try? AnyRecordName(name)).flatMap({ schema[$0.type] }) else { return words }
    return try words.map { word in
      guard let sign = word.firstIndex(of: "="), word[word.index(after: sign)...].hasPrefix("@"),
        entity.fields.contains(where: { $0.name == word[..<sign] && $0.kind == .asset })
      else { return word }
      let path = String(word[word.index(after: sign)...].dropFirst())
      return try "\(word[...sign])\(assets.add(contentsOf: URL(fileURLWithPath: path)).text)"
    }
  }
}

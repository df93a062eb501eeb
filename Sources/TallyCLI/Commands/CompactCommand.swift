import ArgumentParser
import Foundation
import Tally
import TallyCRDT
import TallyStore

struct CompactCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "compact",
    abstract: "Removes for good what deleted records held, once they can no longer be restored.",
    discussion: """
      A deleted record can be restored for as many days as --days says, counted from when its delete was first synced; in a \
      store that has never been synced, from the first compaction after it. What is removed goes on every device with its \
      next sync.

      Then the file gives its free pages back, if they are a quarter of it and a mebibyte; with --vacuum all of them, and \
      a file from before this was possible is rebuilt whole, once. That needs room for twice its content, nobody can write \
      meanwhile, and rows may get other rowids, so with a full-text index, or a trigger or view that names a rowid, the \
      exit code is 65 and nothing has changed; it is 74 where there is no room.

      Example: tally compact scores.tally --dry-run
      """)

  @OptionGroup var store: StoreArguments
  @Option(help: "For how many days deleted records can be restored; at most 400.") var days = 30
  @Flag(help: "Only say what would be removed and given back.") var dryRun = false
  @Flag(help: "Give all free pages of the file back, and rebuild an older file once.") var vacuum = false
  @Flag(help: "Print one line of JSON.") var json = false

  func validate() throws {
    guard 0...400 ~= days else { throw ValidationError("--days: not a number of days from 0 to 400") }
  }

  func run() throws {
    try store.writing { store in
      let report = try store.compact(
        restoreWindow: .days(days), isDryRun: dryRun, vacuum: vacuum ? .full : .automatic)
      try Output.run { output in try output.line(json ? report.json.text : report.line(isDryRun: dryRun)) }
    }
  }
}

struct PurgeCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "purge",
    abstract: "Removes the content of a deleted record for good, and of what was deleted with it.",
    discussion: """
      It cannot be restored afterwards, nor on other devices once they have synced. The exit code is 66 if nothing is known \
      of the record, and 65 if it is not deleted.

      Example: tally purge scores.tally 'SBGame|~|chess'
      """)

  @OptionGroup var store: StoreArguments
  @Argument(help: "The record's name.") var name: String
  @Flag(help: "Print one line of JSON.") var json = false

  func run() throws {
    let name = try recordName(name)
    try store.writing { store in
      let report = try store.purge(store.meant(name))
      try Output.run { output in try output.line(json ? report.json.text : report.line(isDryRun: false)) }
    }
  }
}

struct DeletedCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "deleted",
    abstract: "Lists deleted records that can be restored, the last deleted first.",
    discussion: """
      Each line has the record, when it was deleted and by which device, and until when it can be restored: unknown as long \
      as no other device has heard of the delete.

      Example: tally deleted scores.tally --json
      """)

  @OptionGroup var store: StoreArguments
  @Option(help: "Only records of this type.") var type: String?
  @Option(help: "The most records of each type.") var limit = 100
  @Flag(help: "Print one line of JSON for each.") var json = false

  func validate() throws { guard limit > 0 else { throw ValidationError("--limit: not a number above 0") } }

  func run() throws {
    try store.reading { store in
      let schema = try store.schema
      let entities = try type.map { [try schema.entity(type: $0)] } ?? schema.entities
      let records = try entities.flatMap { entity in
        try store.recentlyDeleted(ofType: entity.type, limit: limit).map { ($0, entity) }
      }
      try Output.run { output in
        for (record, entity) in records.sorted(by: { $1.0.delete.time < $0.0.delete.time }) {
          try output.line(json ? record.json(entity).text : record.line)
        }
      }
    }
  }
}

extension CompactionReport {
  fileprivate var json: JSON {
    .object([
      "emptied": .integer(emptied), "bytes": .integer(byteCount), "waiting": .integer(waiting),
      "reclaimed": .integer(reclaimed), "reclaimable": .integer(reclaimable),
    ])
  }

  fileprivate func line(isDryRun: Bool) -> String {
    let verb = isDryRun ? "would be emptied" : "emptied"
    let waits = waiting > 0 ? "; \(waiting) can still be restored" : ""
    let given = reclaimed > 0 ? "; \(reclaimed) bytes \(isDryRun ? "would be given" : "given") back" : ""
    let free = reclaimable > 0 ? "; \(reclaimable) bytes are free in the file" : ""
    return "\(emptied) record\(emptied == 1 ? "" : "s") \(verb), \(byteCount) bytes of values\(waits)\(given)\(free)"
  }
}

extension DeletedRecord {
  fileprivate var line: String {
    let end =
      restorableUntil.map { "until \(ISODate.iso(milliseconds: UInt64(max(0, $0.timeIntervalSince1970) * 1000)))" }
      ?? "not synced yet"
    return "\(name)  deleted \(StampOutput.text(delete)); \(end)"
  }

  fileprivate func json(_ entity: EntitySchema) -> JSON {
    .object([
      "name": .string(name.text), "deleted": StampOutput.json(delete),
      "fields": .object(
        Dictionary(
          uniqueKeysWithValues: values.map { column, value in
            ((column), ((try? entity.fieldType(column)) ?? .field(.text)).json(value))
          })),
      "restorableUntil": restorableUntil.map {
        .string(ISODate.iso(milliseconds: UInt64(max(0, $0.timeIntervalSince1970) * 1000)))
      } ?? .null,
    ])
  }
}

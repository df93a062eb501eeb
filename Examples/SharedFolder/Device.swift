import Foundation
import Tally
import TallySync

/// A device: a store of its own, and its own copy of the shared folder.
struct Device {
  let name: String
  let store: Store
  /// The device's copy of the folder, where the drive puts what the others have written.
  let folder: FolderMailbox

  init(_ name: String, in scratch: URL) throws {
    let home = scratch.appendingPathComponent(name)
    let shared = home.appendingPathComponent("Shared")
    try FileManager.default.createDirectory(at: shared, withIntermediateDirectories: true)
    self.name = name
    store = try Store(path: home.appendingPathComponent("packing.tally").path, schema: Schema(Item.self))
    folder = FolderMailbox(shared)
  }

  /// Says what somebody does on this device, and does it.
  func does(_ what: String, _ write: (Database) throws -> Void) throws {
    print("  \(padded(name)) \(what)")
    try store.write(write)
  }

  /// One pass through the folder: this is all that an app has to call.
  @discardableResult
  func syncs() throws -> MailboxReport {
    let report = try store.sync(through: folder)
    var parts = report.taken.map { "takes \(Self.short($0))" } + report.written.map { "puts \(Self.short($0))" }
    parts += report.pending.map { "lets \(Self.short($0.name)) wait: \($0.message)" }
    if parts.isEmpty { parts = ["finds nothing new"] }
    for (index, part) in parts.enumerated() { print("  \(padded(index == 0 ? name : "")) ⇄ \(part)") }
    return report
  }

  /// Prints the list as this device has it.
  func shows() throws {
    let line = try store.read { db in try Item.line(db) }
    print("  \(padded(name)) \(line)")
  }

  /// The store's whole state as text, equal on equal devices.
  func dump() throws -> String {
    var text = ""
    try store.dump(.canonical) { text += $0 }
    return text
  }

  /// A file's name without its long numbers: who wrote it, up to which of their changes, and what it is.
  private static func short(_ name: String) -> String {
    let parts = name.split(whereSeparator: { $0 == "-" || $0 == "." })
    guard parts.count == 6, let change = Int(parts[3]) else { return name }
    return "\(parts[2].prefix(4))…-\(change).\(parts[5])"
  }

  private func padded(_ text: String) -> String { text.padding(toLength: 7, withPad: " ", startingAt: 0) }
}

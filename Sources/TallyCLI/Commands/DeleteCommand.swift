import ArgumentParser
import Tally
import TallyCRDT
import TallyInspection
import TallyStore

struct DeleteCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "delete",
    abstract: "Deletes a record, and with it what it owns.",
    discussion: """
      What other devices changed without having seen the delete stays. Prints an ACK as tally put does.

      Example: tally delete scores.tally 'SBGame|~|chess'
      """)

  @OptionGroup var store: StoreArguments
  @Argument(help: "The record's name.") var name: String

  func run() throws {
    let name = try recordName(name)
    try store.writing { store in
      let name = try store.meant(name)
      let schema = try store.schema
      let commit = try store.commit { try schema.delete($0, name) }
      try Output().acknowledge(name, commit.dot)
    }
  }
}

struct RestoreCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "restore",
    abstract: "Brings a deleted record back: its fields, relationships and what it owns.",
    discussion: """
      A record that disappeared with its owner brings the owner back as well. The exit code is 66 if nothing is known of \
      the record, and 65 if it is not deleted.

      Example: tally restore scores.tally 'SBGame|~|chess'
      """)

  @OptionGroup var store: StoreArguments
  @Argument(help: "The record's name.") var name: String

  func run() throws {
    let name = try recordName(name)
    try store.writing { store in
      let name = try store.meant(name)
      _ = try store.schema.entity(of: name)
      try Output().acknowledge(name, try store.restoreDeleted(name))
    }
  }
}

extension Store {
  /// Brings a deleted record back. A record that was never deleted, and whose row this device's database does not
  /// take, stays as it is: a restore would only make its claims younger.
  /// - Throws: the errors of `restore(_:)`; `StoreError.notDeleted` also for such a record.
  func restoreDeleted(_ name: AnyRecordName) throws -> Dot? {
    let found = try presence(of: name)
    if found.code == .setAside, !found.isVisible, try history(of: name)?.isAlive == true {
      throw StoreError(.notDeleted, "\(name) is not deleted, but set aside: tally why says what is in the way")
    }
    return try restore(name)
  }
}

import ArgumentParser
import Tally

struct LinkCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "link",
    abstract: "Adds a member to a relationship.",
    discussion: """
      Both records must be there. Prints an ACK as tally put does.

      Example: tally link scores.tally 'SBGame|~|chess' players 'SBPerson|~|ann'
      """)

  @OptionGroup var store: StoreArguments
  @OptionGroup var link: LinkArguments

  func run() throws {
    let names = try link.names()
    try store.writing { store in
      let (name, target) = (try store.meant(names.name), try store.meant(names.target))
      let schema = try store.schema
      let commit = try store.commit { try schema.link($0, name, link.relationship, to: target) }
      try Output().acknowledge(name, commit.dot)
    }
  }
}

struct UnlinkCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "unlink",
    abstract: "Removes a member from a relationship.",
    discussion: """
      What other devices added without having seen this stays. Prints an ACK as tally put does, with - if there was no \
      such member.

      Example: tally unlink scores.tally 'SBGame|~|chess' players 'SBPerson|~|ann'
      """)

  @OptionGroup var store: StoreArguments
  @OptionGroup var link: LinkArguments

  func run() throws {
    let names = try link.names()
    try store.writing { store in
      let (name, target) = (try store.meant(names.name), try store.meant(names.target))
      let schema = try store.schema
      let commit = try store.commit { try schema.unlink($0, name, link.relationship, from: target) }
      try Output().acknowledge(name, commit.dot)
    }
  }
}

/// One link.
struct LinkArguments: ParsableArguments {
  @Argument(help: "The record whose relationship it is.") var name: String
  @Argument(help: "The relationship.") var relationship: String
  @Argument(help: "The member's name.") var target: String

  func names() throws -> (name: AnyRecordName, target: AnyRecordName) { (try recordName(name), try recordName(target)) }
}

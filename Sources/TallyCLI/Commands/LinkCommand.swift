import ArgumentParser
import Tally

struct LinkCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "link",
    abstract: "Adds a member to a relationship.",
    discussion: """
      Both records must be there. Prints an ACK as tally put does.

      In an ordered relationship it comes behind all others, or where --at says; a member moves there.

      Example: tally link scores.tally 'SBGame|~|chess' players 'SBPerson|~|ann' --at first
      """)

  @OptionGroup var store: StoreArguments
  @OptionGroup var link: LinkArguments
  @Option(help: "The place in an ordered relationship: first, last, before:NAME, after:NAME or an index from 0.")
  var at: String?

  func run() throws {
    let names = try link.names()
    try store.writing { store in
      let (name, target) = (try store.meant(names.name), try store.meant(names.target))
      let schema = try store.schema
      let place = try at.map(place).map { place in try place.map { try store.meant($0) } }
      switch place {
      case .before(target)?, .after(target)?: throw Failure(.badData, "\(target) cannot stand before or after itself")
      default: break
      }
      let commit = try store.commit { try schema.link($0, name, link.relationship, to: target, at: place) }
      try Output().acknowledge(name, commit.dot)
    }
  }

  private func place(_ text: String) throws -> ListPlace<AnyRecordName> {
    if text.hasPrefix("before:") { return .before(try recordName(String(text.dropFirst(7)))) }
    if text.hasPrefix("after:") { return .after(try recordName(String(text.dropFirst(6)))) }
    switch text {
    case "first": return .first
    case "last": return .last
    default:
      guard let index = Int(text), index >= 0 else {
        throw ValidationError("--at \(shown(text)) is none of first, last, before:NAME, after:NAME and an index from 0")
      }
      return .index(index)
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

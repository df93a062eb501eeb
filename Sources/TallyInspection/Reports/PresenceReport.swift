import TallyCRDT
import TallyStore

/// Whether the app sees a record, and if not why, in a code for programs and a sentence for people.
package struct PresenceReport: Sendable, Equatable, Codable {
  /// The reason.
  package var code: RecordPresence.Code
  /// Whether the app sees the record.
  package var isVisible: Bool
  /// The reason in words.
  package var sentence: String
  /// The owners that hide it, the nearest first; empty unless that is the reason.
  package var owners: [String]
  /// The deletes that took it, or the last of its owners, away.
  package var deletes: [StampReport]
  /// The record for which it gave way; nil if it speaks for itself.
  package var gaveWayTo: String?
  /// The write that removed its content for good; nil if it can be restored.
  package var emptying: StampReport?

  /// The report of a store that cannot be read.
  init(unreadable reason: String) {
    (code, isVisible, owners, deletes) = (.unreadable, false, [], [])
    sentence = "This store cannot be read, and so nothing is known of the record here: \(reason)."
  }

  /// The report of a record's presence in one store.
  package init(of name: AnyRecordName, _ presence: RecordPresence, _ directory: ReplicaDirectory) {
    code = presence.code
    isVisible = presence.isVisible
    owners = presence.owners.map(\.text)
    deletes = presence.deletes.map { StampReport($0) }
    gaveWayTo = presence.gaveWayTo?.text
    emptying = presence.emptying.map { StampReport($0) }
    sentence = Sentence(name: name, presence: presence, directory: directory).text
  }

}

/// A reason in words.
private struct Sentence {
  let name: AnyRecordName
  let presence: RecordPresence
  let directory: ReplicaDirectory

  var text: String {
    switch presence.code {
    case .visible: "The app sees it."
    case .unknownType:
      "No schema here has the type \(name.type), and nothing of that type has arrived. Is the name spelt right?"
    case .notReceived: "Nothing of it has arrived here: nobody wrote it, or no sync has brought it yet."
    case .newerSchema:
      "It is here and goes on to other devices, but this version of the app does not have the type \(name.type). "
        + "It shows once the app is updated."
    case .deleted where presence.emptying != nil:
      "It was deleted\(by), and its content was removed for good\(emptying). It cannot be restored."
    case .emptied where !presence.owners.isEmpty:
      "Its content was removed for good\(emptying), with that of \(presence.owners.last?.text ?? ""), which owned it. "
        + "It cannot be restored."
    case .emptied:
      "Its content was removed for good\(emptying), together with that of its owner, which came back without it."
    case .deleted: "It was deleted\(by), and no edit that the delete had not seen keeps it. A restore brings it back."
    case .retired: "The newest version of the default data no longer has it, and nobody has edited it."
    case .gaveWay:
      "It was a duplicate and gave way to \(presence.gaveWayTo?.text ?? "that"), which shows instead."
    case .hiddenByOwner: hidden
    case .setAside: setAside
    case .refused:
      "The app sees it, but another program wrote something into its row that cannot be replicated. "
        + "Other devices show it as it was before, until somebody puts the row right."
    case .unreadable: "This store cannot be read."
    }
  }

  private var by: String {
    guard !presence.deletes.isEmpty else { return "" }
    let dots = presence.deletes.map(\.dot)
    let time = presence.deletes.map(\.time).max().map { ", at \(StampReport.text($0))" } ?? ""
    return " by \(directory.list(dots))\(time)"
  }

  private var emptying: String {
    presence.emptying.map { " by \(directory.list([$0.dot])), at \(StampReport.text($0.time))" } ?? ""
  }

  private var hidden: String {
    guard let owner = presence.owners.last else { return "A record that owns it is not visible." }
    let between = presence.owners.dropLast().last
    let chain = between.map { "which owns it through \($0.text)" } ?? "which owns it"
    let reason =
      switch presence.ownerCode {
      case .deleted where presence.emptying != nil:
        "was deleted\(by), and its content was removed for good\(emptying)"
      case .deleted: "was deleted\(by)"
      case .emptied: "was removed for good"
      case .notReceived, .unknownType: "has not arrived here yet"
      case .newerSchema: "is of a type that this version of the app does not have"
      case .setAside: "is refused by this device's database: \(presence.refusal ?? "")"
      case .retired: "is no longer part of the default data"
      case .gaveWay: "gave way to another record"
      case .hiddenByOwner: "is hidden by what owns it, and so on over more than \(presence.owners.count) records"
      default: "is not visible"
      }
    let outlook =
      presence.emptying == nil
      ? "It shows again together with its owner." : "It shows again if somebody uses that name for a new record."
    return "It is not deleted, but \(owner.text), \(chain), \(reason). \(outlook)"
  }

  private var setAside: String {
    let words = presence.refusal ?? "no reason given"
    guard presence.isVisible else {
      return "This device's database does not take its row: \(words). It goes on to other devices, "
        + "and shows here as soon as nothing stands in the way."
    }
    return "The app sees an old state of it: this device's database does not let the row change or go: \(words)."
  }
}

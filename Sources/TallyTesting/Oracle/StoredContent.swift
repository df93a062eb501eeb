import TallyCRDT
import TallyStore

/// The content of a record in a store, shown or not, apart from its presence.
struct StoredContent: Equatable {
  /// When the life of the record began; nil for its first.
  var life: Stamp?
  /// Whether there are any values.
  var holds: Bool
  /// Whether it is in a later life, and nothing is said in that: such a record does not show.
  var saysNothing: Bool
}

extension Store {
  /// Returns the content of some records, by name. Records that the store does not know are left out.
  func contents(of names: Set<String>) throws -> [String: StoredContent] {
    try snapshot { reader in
      var contents: [String: StoredContent] = [:]
      for text in names {
        let name = try AnyRecordName(text)
        guard let kind = reader.catalog.kind(of: name.type), let state = try reader.record(name, kind)?.state else {
          continue
        }
        contents[text] = StoredContent(
          life: state.life?.stamp, holds: state.hasContent,
          saysNothing: state.saysNothing(followsNewest: kind.followsNewest))
      }
      return contents
    }
  }
}

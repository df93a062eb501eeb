// swift-format-ignore-file
// Made by Scripts/doc-examples.sh from the examples of pages and documentation comments. Compiled, not run.

import Foundation
import Observation
import Tally
import TallyStore
import TallySync
import TallyImport
import TallyRecovery
import TallyRelay
import TallyTesting
import Testing

@testable import Pantry
@testable import struct Pantry.Tag

#if Macros
  import TallyMacros
#endif
#if Inspector
  import TallyInspector
#endif
#if Network
  import TallyNetwork
#endif
#if canImport(CloudKit)
  import CloudKit
  import TallyCloudKit
#endif

// Sources/TallyStore/Store/OrderedChildren.swift
private enum Sources_TallyStore_Store_OrderedChildren_swift_1 {
struct Chapter: Entity, Codable, FetchableRecord, PersistableRecord {
  static let schema = EntitySchema(
    "Chapter", .text("title"), .reference("book", to: "Book", onDelete: .cascade),
    .position("rank", within: "book"))
  static let inBook = OrderedChildren<Chapter, Book>("rank")
  var id = RecordName<Chapter>()
  var title: String?
  var book: RecordName<Book>?
  var rank: ListPosition?
}
}

// Sources/TallyStore/Store/OrderedChildren.swift
private func Sources_TallyStore_Store_OrderedChildren_swift_2() throws {
try store.write { db in
  let rank = try Chapter.inBook.position(db, at: .last, of: novel)
  try Chapter(title: "The end", book: novel, rank: rank).insert(db)
}
}

// Sources/TallyStore/Store/OrderedChildren.swift
private func Sources_TallyStore_Store_OrderedChildren_swift_3() throws {
let chapters = try Chapter.inBook.ordered(db, of: novel)
_ = chapters
}

// Sources/TallyStore/Store/OrderedChildren.swift
private func Sources_TallyStore_Store_OrderedChildren_swift_4() throws {
let rank = try Chapter.inBook.position(db, at: .first, of: novel)
_ = rank
}

// Sources/TallyStore/Store/OrderedChildren.swift
private func Sources_TallyStore_Store_OrderedChildren_swift_5() throws {
try store.write { db in try Chapter.inBook.move(db, intro, to: .after(ending), of: novel) }
}

// Sources/TallyStore/Store/OrderedChildren.swift
private func Sources_TallyStore_Store_OrderedChildren_swift_6() throws {
try store.write { db in try Chapter.inBook.setOrder(db, [ending, intro], of: novel) }
}

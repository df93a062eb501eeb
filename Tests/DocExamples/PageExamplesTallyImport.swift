// swift-format-ignore-file
// Made by Scripts/doc-examples.sh from the examples of pages and documentation comments. Compiled, not run.

import Foundation
import Observation
import Tally
import TallyImport

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

// Sources/Tally/Tally.docc/ComingFromOthers.md
private enum Sources_Tally_Tally_docc_ComingFromOthers_md_1 {
func bringOver(_ oldFile: URL, into store: Store) async throws {
  let draft = try ImportMap.draft(of: oldFile, for: store.schema)
  print("not found:", draft.unmatched, "without a field:", draft.unused, "without a type:", draft.leftOut)
  let report = try await store.importDatabase(at: oldFile, map: draft.map) { progress in
    print("\(progress.rows) of \(progress.rowCount)")
  }
  print(report.records)
  if !report.leftOut.isEmpty { print("still only in the old file:", report.leftOut) }
}
}

// Sources/Tally/Tally.docc/ComingFromOthers.md
private func Sources_Tally_Tally_docc_ComingFromOthers_md_2() throws {
let pantryMap = ImportMap(
  tables: [
    .init(from: "ZLIST", to: "ShoppingList", fields: ["title": "ZTITLE"]),
    .init(from: "ZTAG", to: "Tag", fields: ["name": "ZNAME"]),
    .init(
      from: "ZITEM", to: "Item", where: "ZTITLE NOT NULL",
      fields: [
        "title": "ZTITLE", "due": .init(column: "ZDUE", as: .coreDataSeconds),
        "note": .init(sql: "trim(ZNOTES)"), "list": .init(column: "ZLIST", skipsMissing: true),
      ]),
  ],
  links: [.init(from: "Z_1TAGS", to: "Item.tags", source: "Z_1ITEMS", target: "Z_2TAGS")])
_ = pantryMap
}

// Sources/Tally/Tally.docc/ComingFromOthers.md
private func Sources_Tally_Tally_docc_ComingFromOthers_md_3() throws {
let pictureMap = ImportMap(
  folder: "Pictures",
  tables: [
    .init(
      from: "person", to: "Person",
      fields: [
        "name": "name", "photo": .init(column: "photo_path", as: .path), "scan": .init(column: "scan", type: "pdf"),
      ])
  ])
_ = pictureMap
}

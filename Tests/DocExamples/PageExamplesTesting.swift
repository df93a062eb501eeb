// swift-format-ignore-file
// Made by Scripts/doc-examples.sh from the examples of pages and documentation comments. Compiled, not run.

import Foundation
import Observation
import Tally
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

// Sources/Tally/Tally.docc/TestingAndPreviews.md
private enum Sources_Tally_Tally_docc_TestingAndPreviews_md_2 {
func bothEditsStay() throws {
  let (phone, tablet) = (try Pantry.open(nil), try Pantry.open(nil))
  let milk = try phone.write { db in try Item.add(db, "Milk") }
  try phone.sync(with: tablet)
  try phone.write { db in try db.execute(sql: "UPDATE Item SET amount = 2") }
  try tablet.write { db in try db.execute(sql: "UPDATE Item SET note = 'oat'") }
  #expect(try phone.sync(with: tablet).isConverged)
  let merged = try tablet.read { db in try Item.find(db, id: milk.id) }
  #expect(merged.amount == 2 && merged.note == "oat")
}
}

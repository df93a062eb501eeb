// swift-format-ignore-file
// Made by Scripts/doc-examples.sh from the examples of pages and documentation comments. Compiled, not run.

import Foundation
import Observation
import Tally
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

// Sources/Tally/Tally.docc/TestingAndPreviews.md
private enum Sources_Tally_Tally_docc_TestingAndPreviews_md_3 {
func nothingIsLostWhateverHappens() async throws {
  try await simulate(Item.self, Tag.self, Shop.self, ShoppingList.self, replicas: 3, runs: 20)
}
}

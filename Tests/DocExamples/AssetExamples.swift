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

// Sources/TallyAssets/AssetError.swift
private func Sources_TallyAssets_AssetError_swift_1() throws {
do {
  print(try store.assets.add(contentsOf: url))
} catch let error as AssetError where error.code == .tooLarge {
  print("choose a smaller one")
}
}

// Sources/TallyAssets/Assets+Blobs.swift
private func Sources_TallyAssets_Assets_Blobs_swift_1() throws {
let report = try store.assets.moveBlobs(of: "Person", from: "image", to: "photo")
print(report.moved, report.byteCount)
_ = report
}

// Sources/TallyAssets/Assets+Upkeep.swift
private func Sources_TallyAssets_Assets_Upkeep_swift_1() throws {
let report = try store.assets.verify()
print(report.damaged, report.missing)
_ = report
}

// Sources/TallyAssets/Assets+Upkeep.swift
private func Sources_TallyAssets_Assets_Upkeep_swift_2() throws {
try store.assets.evict(keeping: 500_000_000)
}

// Sources/TallyAssets/Assets.swift
private func Sources_TallyAssets_Assets_swift_1() throws {
let name = try store.assets.add(contentsOf: pictureURL)
try store.write { db in
  try db.execute(sql: "UPDATE Person SET photo = ? WHERE id = ?", arguments: [name, ann])
}
if let url = try store.assets.url(of: name) { print(url) }
_ = name
}

// Sources/TallyAssets/Assets.swift
private func Sources_TallyAssets_Assets_swift_2() throws {
let name = try store.assets.add(jpeg, type: "jpg")
_ = name
}

// Sources/TallyAssets/Assets.swift
private func Sources_TallyAssets_Assets_swift_3() throws {
let name = try store.assets.add(contentsOf: pictureURL)
_ = name
}

// Sources/TallyAssets/Assets.swift
private func Sources_TallyAssets_Assets_swift_4() throws {
if let url = try store.assets.url(of: photo) { print(url) }
}

// Sources/TallyAssets/Assets.swift
private func Sources_TallyAssets_Assets_swift_5() async throws {
let url = try await store.assets.url(for: photo)
_ = url
}

// Sources/TallyAssets/Assets.swift
private func Sources_TallyAssets_Assets_swift_6() throws {
try store.assets.want(photo)
}

import Foundation
import TallyAssets
import TallyCRDT
import TallySchema
import TallyStore

extension AssetHistory {
  // MARK: After each step

  /// What is here is what its name says, unless the disk has just changed it.
  func check(_ device: Int) throws {
    let here = try found(device)
    for (name, bytes) in here {
      if bytes == specification.contents[name] {
        specification.devices[device].harmed[name] = nil
        guard try assets(device).url(of: name) != nil else { throw AssetFailure("\(device) does not show \(name)") }
        continue
      }
      guard let harm = specification.devices[device].harmed[name] else {
        throw AssetFailure("what \(device) has as \(name) is something else")
      }
      guard try assets(device).url(of: name) == nil || harm == .changed else {
        throw AssetFailure("\(device) shows only the beginning of \(name)")
      }
    }
    for name in specification.devices[device].harmed.keys where here[name] == nil {
      specification.devices[device].harmed[name] = nil
    }
    for name in try shown(device) where here[name] == nil {
      guard try assets(device).url(of: name) == nil else { throw AssetFailure("\(device) shows \(name) from nowhere") }
    }
  }

  // MARK: While something is done

  /// Does something that removes no file that a row shows. It may remove others only after a purge or a compaction, and
  /// with `mayPutAside` it may put those aside that the disk has changed.
  /// - Returns: the files that went.
  @discardableResult
  func watch(
    _ device: Int, mayRemoveUnnamed: Bool = false, mayPutAside: Bool = false, _ body: () throws -> Void
  ) throws -> Set<AssetName> {
    let before = try found(device)
    try body()
    let after = try found(device)
    for (name, bytes) in after where bytes == specification.contents[name] && bytes != before[name] {
      // It has come from elsewhere.
      specification.devices[device].added[name] = nil
    }
    let kept = mayPutAside ? before.filter { $1 == specification.contents[$0] } : before
    let gone = Set(kept.keys).subtracting(after.keys)
    guard !gone.isEmpty else { return [] }
    let shown = gone.intersection(try shown(device))
    guard shown.isEmpty else { throw AssetFailure("\(device) has lost \(shown), which it shows") }
    guard mayRemoveUnnamed || hasPurged || hasCompacted else { throw AssetFailure("\(device) has lost \(gone)") }
    // Another device may still have had the name.
    if hasPurged || hasCompacted { specification.excused.formUnion(gone) }
    return gone
  }

  /// Does something to files that leaves all rows as they are.
  private func keepingRows(_ device: Int, _ body: () throws -> Void) throws {
    let before = try devices[device].store.summary()
    try body()
    let after = try devices[device].store.summary()
    guard before.vector == after.vector, before.fingerprint == after.fingerprint else {
      throw AssetFailure("rows of \(device) have changed with its files")
    }
  }

  func evict(_ device: Int, keeping byteCount: Int) throws {
    let eager = Set(try shown(device, eagerOnly: true))
    let before = try found(device)
    var reported: [AssetName]?
    try keepingRows(device) { try attempt { reported = try assets(device).evict(keeping: byteCount) } }
    let gone = Set(before.keys).subtracting(try found(device).keys)
    log.append("\(device) evicts to \(byteCount): \(gone.map(\.text).sorted())")
    if let reported, Set(reported) != gone { throw AssetFailure("\(device) says that it has evicted \(reported)") }
    for name in gone {
      let objection = specification.objection(
        toEviction: name, device, at: time.value, isEager: eager.contains(name))
      if let objection { throw AssetFailure("\(device) has evicted \(name), but \(objection)") }
    }
  }

  func collect(_ device: Int, isUrgent: Bool) throws {
    var count: Int?
    if isUrgent { hasPurged = true }
    try keepingRows(device) {
      let gone = try watch(device, mayRemoveUnnamed: true) {
        try attempt { count = try assets(device).collect(isUrgent: isUrgent) }
      }
      log.append("\(device) collects \(gone.map(\.text).sorted())")
      if let count, count != gone.count { throw AssetFailure("\(device) says that it has collected \(count)") }
    }
  }

  func verify(_ device: Int) throws {
    let before = try found(device)
    let bad = Set(before.keys.filter { before[$0] != specification.contents[$0] })
    let shown = Set(try shown(device))
    var report: AssetReport?
    try keepingRows(device) { try attempt { report = try assets(device).verify() } }
    let after = try found(device)
    let gone = Set(before.keys).subtracting(after.keys)
    guard gone.isSubset(of: bad) else { throw AssetFailure("\(device) puts \(gone.subtracting(bad)) aside") }
    guard let report else { return }
    log.append("\(device) finds \(report.damaged.map(\.text)) damaged and \(report.missing.map(\.text)) missing")
    guard gone == bad, report.damaged.count == bad.count,
      Set(report.damaged.map(AssetSpecification.file(of:))) == Set(bad.map(AssetSpecification.file(of:))),
      Set(report.damaged).isSuperset(of: bad.intersection(shown))
    else { throw AssetFailure("\(device) has \(bad) damaged") }
    guard Set(report.missing) == shown.subtracting(after.keys), report.unreadable == [], report.sound == after.count
    else { throw AssetFailure("\(device) reports \(report)") }
  }

  func list(_ device: Int) throws {
    let whole = try found(device).filter { $0.value.count == $0.key.byteCount }
    let shown = Set(try shown(device))
    var listed = Set<AssetName>()
    try keepingRows(device) {
      for file in try assets(device).list() {
        listed.insert(file.name)
        // What has lost its end is listed as what it is, if nothing names it.
        let isTorn = specification.contents[file.name] == nil
        guard isTorn ? file.isHere && !file.isShown : file.isHere == (whole[file.name] != nil) else {
          throw AssetFailure("\(device) lists \(file)")
        }
        guard file.isShown == shown.contains(file.name) else { throw AssetFailure("\(device) lists \(file)") }
      }
    }
    guard listed.isSuperset(of: shown.union(whole.keys)) else { throw AssetFailure("\(device) lists \(listed)") }
  }

  // MARK: At the end

  /// Each device has each file that a row shows. It may lack one of which there is no copy, if the disk has taken one.
  func checkAllHaveAll() throws {
    var whole = Set<AssetName>()
    for device in devices.indices {
      try check(device)
      whole.formUnion(try found(device).filter { $0.value == specification.contents[$0.key] }.keys)
    }
    for name in specification.names where place.bytes(of: name) == specification.contents[name].map(Array.init) {
      whole.insert(name)
    }
    for device in devices.indices {
      for name in try shown(device) where try assets(device).url(of: name) == nil {
        guard !whole.contains(name) else { throw AssetFailure("\(device) cannot get \(name)") }
        guard specification.excused.contains(name) else { throw AssetFailure("there is no copy of \(name)") }
      }
    }
  }
}

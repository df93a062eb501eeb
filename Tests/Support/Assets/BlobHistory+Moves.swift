import Foundation
import TallyAssets
import TallyCRDT
import TallyStore

extension BlobHistory {
  /// How a move is asked for.
  struct MoveWay {
    var keepsOldApps: Bool
    /// The type of all files; nil for the one that the bytes say.
    var type: String?

    func type(of content: String) -> String { type ?? Int(content).map { BlobHistory.contents[$0].type } ?? "bin" }
  }

  /// What the specification says that a move does to the records of a type.
  private func plan(_ device: Int, _ type: String, _ way: MoveWay, after last: String = "")
    -> (plans: [BlobSpecification.Plan], ensured: [String: String])
  {
    var (plans, ensured): ([BlobSpecification.Plan], [String: String]) = ([], [:])
    for record in records(of: type) where record > last {
      let found = specification.plan(device, record, keepsOldApps: way.keepsOldApps, type: way.type(of:))
      if let plan = found.plan { plans.append(plan) }
      if let name = found.ensured { ensured[record] = name }
    }
    return (plans, ensured)
  }

  private func carryOut(
    _ plans: [BlobSpecification.Plan], _ device: Int, _ way: MoveWay, _ report: BlobReport
  ) throws {
    var right = BlobReport.nothing
    for plan in plans {
      specification.carryOut(plan, device, keepsOldApps: way.keepsOldApps)
      if let file = plan.file {
        right.moved += 1
        right.byteCount += Self.name(file)?.byteCount ?? 0
        try checkFile(device, plan.record, file, mustBeHere: true)
      } else {
        right.cleared += 1
      }
    }
    guard report == right else { throw BlobFailure("\(device) reports \(report), and should report \(right)") }
  }

  /// A move as an app asks for it.
  func move(_ device: Int, _ type: String, _ way: MoveWay) throws {
    log.append("\(device) moves \(type) \(way)")
    let (plans, ensured) = plan(device, type, way)
    let expected = try isExact(type) ? [:] : expectation(device, type, way)
    let report = try moved(device, type, way)
    if isExact(type) {
      try carryOut(plans, device, way, report)
      for (record, name) in ensured { try checkFile(device, record, name, mustBeHere: true) }
    }
    for (record, right) in expected {
      let row = try row(device, record)
      guard row == right.row else {
        throw BlobFailure("\(record) on \(device) has moved to \(row ?? [:]), and should be \(right.row)")
      }
      if right.hasFile { try checkFile(device, record, right.row[.picture] ?? "", mustBeHere: true) }
    }
    guard report.refused == [] else { throw BlobFailure("\(device) has refused \(report.refused)") }
  }

  private func moved(_ device: Int, _ type: String, _ way: MoveWay) throws -> BlobReport {
    try devices[device].store.assets.moveBlobs(
      of: type, from: "image", to: "picture", type: way.type, keepsOldApps: way.keepsOldApps)
  }

  /// The files are added, something else happens, and then the rows are written, or never.
  func moveInSlices(_ device: Int, _ type: String, _ way: MoveWay) throws {
    let last = random.chance(30) ? random.pick(records(of: type)) : ""
    let blobs = try BlobMove(
      devices[device].store.assets, of: type, from: "image", to: "picture", type: way.type,
      keepsOldApps: way.keepsOldApps)
    log.append("\(device) begins to move \(type) after \(last), \(way)")
    let plans = plan(device, type, way, after: last).plans
    guard let slice = try blobs.slice(after: last) else {
      guard !isExact(type) || plans.isEmpty else { throw BlobFailure("\(device) finds nothing to move") }
      return
    }
    switch random.below(6) {
    case 0: return try restart(device)
    case 1: try collect(device)
    case 2, 3: try choose(device, random.pick(records(of: type)))
    case 4: try delete(device, random.pick(records(of: type)))
    default: break
    }
    let current = try plans.filter { plan in
      guard specification.isCurrent(plan, device) else { return false }
      return try plan.file.flatMap(Self.name).map { try devices[device].store.assets.url(of: $0) != nil } ?? true
    }
    var report = BlobReport.nothing
    try blobs.write(slice, &report)
    log.append("\(device) goes on: \(report)")
    if isExact(type) { try carryOut(current, device, way, report) }
  }

  /// The process is killed, or the disk is full, at any operation on the files. Then no row has changed.
  func moveKilled(_ device: Int, _ type: String, _ way: MoveWay) throws {
    #if PlantedFaults
      let folder = try devices[device].store.assets.folder.path
      let ending = random.pick([AssetDisk.Ending.killed, .full])
      let operations = random.below(24)
      log.append("\(device) moves \(type) \(way), \(ending) after \(operations)")
      let plans = plan(device, type, way).plans
      var report: BlobReport?
      AssetDisk.end(folder, as: ending, after: operations)
      do {
        defer { AssetDisk.goOn(folder) }
        report = try moved(device, type, way)
      } catch let error as AssetError where error.code == .unwritable {
        log.append("\(error)")
      }
      try restart(device)
      let files = try devices[device].store.assets.verify()
      guard files.damaged == [] else { throw BlobFailure("\(device) was left with \(files.damaged) damaged") }
      if isExact(type), let report { try carryOut(plans, device, way, report) }
    #else
      try move(device, type, way)
    #endif
  }

  /// What a move makes of rows of which the specification says nothing, by the times of their fields.
  private func expectation(_ device: Int, _ type: String, _ way: MoveWay) throws
    -> [String: (row: [Field: String], hasFile: Bool)]
  {
    var expected: [String: (row: [Field: String], hasFile: Bool)] = [:]
    for record in records(of: type) {
      guard var row = try row(device, record) else { continue }
      let (image, picture) = (row[.image] ?? "", row[.picture] ?? "")
      guard image != "" else {
        expected[record] = (row, false)
        continue
      }
      let fields = try devices[device].store.history(of: try AnyRecordName(record))?.fields ?? []
      let written = fields.first { $0.field == "image" }?.stamp
      let chosen = fields.first { $0.field == "picture" }?.stamp
      let isLater =
        if let chosen, let written {
          picture == "" ? written < chosen && written.dot != chosen.dot : written <= chosen
        } else {
          chosen != nil
        }
      let isSame = BlobSpecification.content(of: picture) == image
      let isMoved = !isLater && image != BlobSpecification.empty
      if isMoved, !isSame { row[.picture] = "\(image).\(way.type(of: image))" }
      if !way.keepsOldApps { row[.image] = "" }
      expected[record] = (row, isMoved || isSame)
    }
    return expected
  }
}

extension BlobReport {
  /// A report of a move that finds nothing to do.
  fileprivate static let nothing = BlobReport()
}

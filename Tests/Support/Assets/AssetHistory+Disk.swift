import Foundation
import TallyAssets
import TallyCRDT
import TallySchema
import TallyStore

extension AssetHistory {
  // MARK: What a device has

  /// The folder of a device's files.
  func files(of device: Int) -> URL { URL(fileURLWithPath: devices[device].path + "-assets") }

  private func names(in folder: URL) -> [String] {
    ((try? FileManager.default.contentsOfDirectory(atPath: folder.path)) ?? []).sorted()
  }

  private func isPlain(_ url: URL) -> Bool {
    (try? FileManager.default.attributesOfItem(atPath: url.path)[.type] as? FileAttributeType) == .typeRegular
  }

  /// The plain files under assets' names, as any program finds them.
  func found(_ device: Int) throws -> [AssetName: Data] {
    var found: [AssetName: Data] = [:]
    for part in names(in: files(of: device)) where part.utf8.count == 2 {
      let folder = files(of: device).appendingPathComponent(part)
      for file in names(in: folder) where isPlain(folder.appendingPathComponent(file)) {
        guard let name = specification.name(of: file) else { throw AssetFailure("\(device) has \(file)") }
        found[name] = try Data(contentsOf: folder.appendingPathComponent(file))
      }
    }
    return found
  }

  private func url(_ name: AssetName, _ device: Int) -> URL {
    files(of: device).appendingPathComponent(String(name.hash.prefix(2)))
      .appendingPathComponent(AssetSpecification.file(of: name))
  }

  // MARK: Harm

  /// The disk, a backup or another program loses, cuts, changes or replaces something in a device's folder.
  func harmDisk(_ device: Int) throws {
    switch random.below(12) {
    case 0: try loseAll(device)
    case 1: try backUp(device)
    case 2: try putBack(device)
    case 3, 4: try harmParts(device)
    case 5: try harmPlaces(device)
    default: try harmFile(device)
    }
  }

  private func harmFile(_ device: Int) throws {
    let here = try found(device)
    guard let name = here.keys.sorted(by: { $0.text < $1.text }).randomElement(using: &random),
      let bytes = here[name]
    else { return }
    let url = url(name, device)
    specification.excused.insert(name)
    switch random.below(5) {
    case 0:
      log.append("\(device) loses \(name)")
      try FileManager.default.removeItem(at: url)
    case 1 where !bytes.isEmpty:
      log.append("\(device) has only the beginning of \(name)")
      try rewrite(url, bytes.prefix(random.below(bytes.count)))
      specification.devices[device].harmed[name] = .torn
    case 2 where bytes.count == name.byteCount && !bytes.isEmpty:
      log.append("\(device) has a changed \(name)")
      try rewrite(url, flipped(bytes))
      specification.devices[device].harmed[name] = .changed
    case 3:
      log.append("\(device) has a folder as \(name)")
      try FileManager.default.removeItem(at: url)
      try FileManager.default.createDirectory(at: url, withIntermediateDirectories: false)
      try Data("other".utf8).write(to: url.appendingPathComponent("other"))
    default:
      log.append("\(device) has a link as \(name)")
      let other = folder.appendingPathComponent("elsewhere")
      try bytes.write(to: other)
      try FileManager.default.removeItem(at: url)
      try FileManager.default.createSymbolicLink(at: url, withDestinationURL: other)
    }
  }

  private func flipped(_ bytes: Data) -> Data {
    var bytes = Array(bytes)
    bytes[random.below(bytes.count)] ^= 1
    return Data(bytes)
  }

  /// Changes a file as a disk does, which tells no one.
  private func rewrite(_ url: URL, _ bytes: Data) throws {
    let time = try FileManager.default.attributesOfItem(atPath: url.path)[.modificationDate]
    try bytes.write(to: url)
    if let time { try FileManager.default.setAttributes([.modificationDate: time], ofItemAtPath: url.path) }
  }

  private func loseAll(_ device: Int) throws {
    log.append("\(device) loses all files")
    specification.excused.formUnion(try found(device).keys)
    try? FileManager.default.removeItem(at: files(of: device))
    specification.devices[device].harmed = [:]
  }

  private func backUp(_ device: Int) throws {
    log.append("\(device) is backed up")
    var copy: [String: (bytes: Data, time: Date)] = [:]
    let all = FileManager.default.enumerator(atPath: files(of: device).path)?.allObjects as? [String] ?? []
    for file in all where isPlain(files(of: device).appendingPathComponent(file)) {
      let path = files(of: device).appendingPathComponent(file).path
      let time = try FileManager.default.attributesOfItem(atPath: path)[.modificationDate] as? Date
      copy[file] = (try Data(contentsOf: URL(fileURLWithPath: path)), time ?? .distantPast)
    }
    backups[device] = (copy, specification.devices[device])
  }

  /// Only the folder of files comes from the backup, and its files are as old as they were.
  private func putBack(_ device: Int) throws {
    guard let backup = backups[device] else { return try backUp(device) }
    log.append("\(device) is put back")
    try loseAll(device)
    for (file, (bytes, time)) in backup.files {
      let url = files(of: device).appendingPathComponent(file)
      try FileManager.default.createDirectory(at: url.deletingLastPathComponent(), withIntermediateDirectories: true)
      try bytes.write(to: url)
      try FileManager.default.setAttributes([.modificationDate: time], ofItemAtPath: url.path)
    }
    // What it counts as unnamed may have been named since.
    specification.excused.formUnion(try found(device).keys)
    specification.devices[device].harmed = backup.known.harmed
    specification.devices[device].added = backup.known.added
  }

  /// What has come so far of files.
  private func harmParts(_ device: Int) throws {
    let parts = files(of: device).appendingPathComponent("parts")
    for file in names(in: parts) {
      let url = parts.appendingPathComponent(file)
      guard isPlain(url) else { continue }
      let bytes = try Data(contentsOf: url)
      let way = random.below(5)
      log.append("\(device) has another part of \(file), \(way)")
      switch way {
      case 0: try FileManager.default.removeItem(at: url)
      case 1: try bytes.prefix(random.below(bytes.count + 1)).write(to: url)
      case 2 where !bytes.isEmpty: try flipped(bytes).write(to: url)
      case 3: try (bytes + Data(count: random.below(5_000))).write(to: url)
      default:
        try FileManager.default.removeItem(at: url)
        try FileManager.default.createDirectory(at: url, withIntermediateDirectories: false)
      }
    }
  }

  /// What is known of the place.
  private func harmPlaces(_ device: Int) throws {
    let url = files(of: device).appendingPathComponent("places.sqlite")
    guard isPlain(url) else { return }
    var bytes = Array(try Data(contentsOf: url))
    let (way, pages) = (random.below(3), bytes.count / 4_096)
    log.append("\(device) loses what it knows of the place, \(way)")
    switch way {
    case 0: return try FileManager.default.removeItem(at: url)
    case 1: bytes.removeLast(random.below(bytes.count + 1))
    default:
      guard pages > 1 else { return }
      let start = 4_096 * (1 + random.below(pages - 1))
      for index in start..<start + 4_096 { bytes[index] = 0 }
    }
    try Data(bytes).write(to: url)
  }

  /// The place loses, cuts, changes or replaces a file.
  func harmPlace() throws {
    guard let name = specification.names.filter({ place.bytes(of: $0) != nil }).randomElement(using: &random),
      let harm = place.harms.randomElement(using: &random), try place.harm(name, harm, &random)
    else { return }
    log.append("the place has \(name) \(harm)")
    specification.excused.insert(name)
    if [.torn, .changed].contains(harm) { specification.harmedEntries.insert(name) }
  }

  // MARK: Endings

  /// The process is killed, or the disk is full, at any operation on a device's files.
  func kill(_ device: Int, _ person: String) throws {
    #if PlantedFaults
      let path = try assets(device).folder.path
      let ending = random.pick([AssetDisk.Ending.killed, .full])
      let operations = random.below(16)
      log.append("\(device) is \(ending) after \(operations) operations")
      endsDisk = true
      AssetDisk.end(path, as: ending, after: operations)
      do {
        defer {
          AssetDisk.goOn(path)
          endsDisk = false
        }
        switch random.below(7) {
        case 0:
          var name: AssetName?
          try attempt { name = try add(device) }
          if let name { try put(device, person, name) }
        case 1: try evict(device, keeping: 0)
        case 2: try collect(device, isUrgent: random.chance(30))
        case 3: try verify(device)
        case 4: try meet(device, (device + 1) % devices.count, mayFail: true)
        default: try pass(device, mayFail: random.chance(30))
        }
      }
      try restart(device)
    #else
      try pass(device, mayFail: true)
    #endif
  }

  /// Does something that may end because the disk does.
  func attempt(_ body: () throws -> Void) throws {
    do {
      try body()
    } catch let error as AssetError where error.code == .unwritable && endsDisk {
      log.append("it ends: \(error.message)")
    }
  }
}

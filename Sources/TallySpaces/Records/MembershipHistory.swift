#if Spaces
  /// The records of a set in an order in which each comes after those that it names, with what stands before each.
  struct MembershipHistory {
    /// A set of records, by their numbers.
    struct Past: Hashable {
      private var words: [UInt64]

      init(count: Int) { words = Array(repeating: 0, count: (count + 63) / 64) }

      func contains(_ index: Int) -> Bool { words[index >> 6] >> UInt64(index & 63) & 1 == 1 }
      mutating func insert(_ index: Int) { words[index >> 6] |= 1 << UInt64(index & 63) }
      mutating func formUnion(_ other: Past) { for index in words.indices { words[index] |= other.words[index] } }
    }

    /// Who is out, in the meaning of some of the records.
    struct Standing {
      /// The removals of each device.
      var removals: [MemberID: [Int]] = [:]
      /// The devices whose joins do not count.
      var excluded: Set<MemberID> = []
    }

    private var records: [SpaceRecord] = []
    private var numbers: [SpaceDigest: Int] = [:]
    private var past: [Past] = []
    private var waiting: Set<SpaceDigest> = []
    /// Whether each record counts by what stands before it.
    private var counts: [Bool] = []
    private var joins: [Int] = []
    private var joinsOf: [MemberID: [Int]] = [:]
    /// The removals that count, each with the devices whose joins it has seen.
    private var removals: [(number: Int, devices: [MemberID])] = []
    /// The closes that count, by the number of the invitation.
    private var closes: [Int: [Int]] = [:]
    private var recovery: Set<MemberID> = []

    init(_ all: some Collection<SpaceRecord>) {
      order(all)
      for number in records.indices {
        let isCounted = isCounted(number)
        counts.append(isCounted)
        let record = records[number]
        switch record.operation {
        case .genesis: recovery.insert(record.author)
        case .join:
          joins.append(number)
          joinsOf[record.author, default: []].append(number)
        case .remove(let removal) where isCounted:
          let seen = removal.devices.filter { joinsOf[$0]?.contains(where: past[number].contains) == true }
          if !seen.isEmpty { removals.append((number, seen)) }
        case .close(let invitation) where isCounted:
          if let invitation = numbers[invitation] { closes[invitation, default: []].append(number) }
        default: break
        }
      }
    }

    /// Puts the records in order: those with the fewest before them first, and of these the one with the lowest id.
    private mutating func order(_ all: some Collection<SpaceRecord>) {
      let byID = Dictionary(all.map { ($0.id, $0) }) { first, _ in first }
      var children: [SpaceDigest: [SpaceDigest]] = [:]
      var missing: [SpaceDigest: Int] = [:]
      for record in byID.values {
        missing[record.id] = Set(record.parents).count
        for parent in Set(record.parents) { children[parent, default: []].append(record.id) }
      }
      var ready = byID.values.filter { $0.parents.isEmpty }.map(\.id).sorted()
      while !ready.isEmpty {
        var next: [SpaceDigest] = []
        for id in ready {
          guard let record = byID[id] else { continue }
          numbers[id] = records.count
          records.append(record)
          for child in children[id] ?? [] {
            missing[child, default: 0] -= 1
            if missing[child] == 0 { next.append(child) }
          }
        }
        ready = next.sorted()
      }
      for record in records {
        var before = Past(count: records.count)
        for parent in record.parents {
          guard let number = numbers[parent] else { continue }
          before.insert(number)
          before.formUnion(past[number])
        }
        past.append(before)
      }
      waiting = Set(byID.keys).subtracting(numbers.keys)
    }

    // MARK: What counts

    private func isCounted(_ number: Int) -> Bool {
      let record = records[number]
      switch record.operation {
      case .genesis, .join: return true
      case .close(let invitation):
        guard let invitation = numbers[invitation], past[number].contains(invitation),
          case .invite = records[invitation].operation
        else { return false }
        return isPresent(record.author, in: past[invitation])
      default: return isPresent(record.author, in: past[number])
      }
    }

    private func isPresent(_ device: MemberID, in some: Past) -> Bool {
      if recovery.contains(device) { return true }
      guard joinsOf[device]?.contains(where: some.contains) == true else { return false }
      let standing = standing(in: some)
      return standing.removals[device] == nil && !standing.excluded.contains(device)
    }

    /// Who is out in the meaning of some records, or of all.
    private func standing(in some: Past?) -> Standing {
      var standing = Standing()
      let isThere = { (number: Int) in some?.contains(number) ?? true }
      for removal in removals where isThere(removal.number) {
        for device in removal.devices { standing.removals[device, default: []].append(removal.number) }
      }
      var inviters: [(device: MemberID, inviter: MemberID)] = []
      for join in joins where isThere(join) {
        let device = records[join].author
        switch source(of: join) {
        case .recovery: continue
        case .nothing: standing.excluded.insert(device)
        case .invitation(let invitation):
          let isLeftOut = closes[invitation]?.contains { isThere($0) && !past[$0].contains(join) } == true
          // Open invitations of a device that is removed end with it.
          if isLeftOut || isVoid(invitation, standing) || isVoid(join, by: records[invitation].author, standing) {
            standing.excluded.insert(device)
          }
          inviters.append((device, records[invitation].author))
        }
      }
      var count = -1
      while count != standing.excluded.count {
        count = standing.excluded.count
        for (device, inviter) in inviters where standing.excluded.contains(inviter) {
          standing.excluded.insert(device)
        }
      }
      return standing
    }

    private enum Source {
      case recovery
      case invitation(Int)
      /// Nothing by which a device can come.
      case nothing
    }

    private func source(of join: Int) -> Source {
      guard case .join(let content) = records[join].operation, let number = numbers[content.invitation],
        past[join].contains(number)
      else { return .nothing }
      switch records[number].operation {
      case .genesis: return .recovery
      case .invite: return counts[number] ? .invitation(number) : .nothing
      default: return .nothing
      }
    }

    /// Whether a removal of the author had not seen a record.
    private func isVoid(_ number: Int, _ standing: Standing) -> Bool {
      isVoid(number, by: records[number].author, standing)
    }

    private func isVoid(_ number: Int, by author: MemberID, _ standing: Standing) -> Bool {
      standing.removals[author]?.contains { !past[$0].contains(number) } == true
    }

    // MARK: The meaning of all

    func membership() -> Membership {
      let standing = standing(in: nil)
      var result = Membership()
      result.waiting = waiting
      result.excluded = standing.excluded
      result.removed = Set(standing.removals.keys)
      let counted = joins.filter { !standing.excluded.contains(records[$0].author) }
      result.present = Set(counted.map { records[$0].author }).subtracting(result.removed)
      result.closed = Set(closes.keys.map { records[$0].id })
      // Also by a device that is out, which may have come by another one as well: no invitation becomes unused again.
      for join in joins {
        guard case .join(let content) = records[join].operation, let invitation = numbers[content.invitation],
          past[join].contains(invitation)
        else { continue }
        result.used.insert(content.invitation)
      }
      // And joins that do not count: they did for whoever had not heard of what puts them out.
      let changes = removals.map(\.number) + joins + closes.values.joined()
      result.changes = Set(changes.map { records[$0].id })
      for number in records.indices {
        let record = records[number]
        let speaks = !standing.excluded.contains(record.author) && counts[number] && !isVoid(number, standing)
        switch record.operation {
        case .invite where speaks:
          let isPresent = recovery.contains(record.author) || result.present.contains(record.author)
          if isPresent, !result.closed.contains(record.id) { result.open.insert(record.id) }
        case .key(let key) where speaks:
          result.keys[key.key, default: []].insert(record.id)
          if changes.allSatisfy(past[number].contains) { result.usable.insert(key.key) }
        case .newer: result.hasNewer = true
        default: break
        }
      }
      for (number, _) in removals where !isVoid(number, standing) {
        guard case .remove(let removal) = records[number].operation, !removal.kept.isEmpty,
          !standing.excluded.contains(records[number].author)
        else { continue }
        for device in removal.devices { result.kept[device, default: []].formUnion(removal.kept) }
      }
      result.heads = Set(numbers.keys)
      for record in records { result.heads.subtract(record.parents) }
      return result
    }
  }
#endif

#if Spaces
  /// The records of a set in an order in which each comes after those that it names, with what stands before each.
  ///
  /// Who is excluded is known of each record: as of the latest of those that it names, and by what the others add to
  /// that. So the time is that of joining pasts (``MembershipPasts``), and of a few look-ups for each join, close and
  /// removal wherever branches meet.
  struct MembershipHistory {
    private var records: [SpaceRecord] = []
    private var numbers: [SpaceDigest: Int] = [:]
    private var pasts = MembershipPasts(count: 0)
    private var waiting: Set<SpaceDigest> = []
    /// Whether each record counts by what stands before it.
    private var counts: [Bool] = []
    private var joins: [Int] = []
    /// The devices, by their numbers, and the number of each record's author.
    private var devices: [MemberID] = []
    private var deviceNumbers: [MemberID: Int] = [:]
    private var authors: [Int] = []
    /// The devices that are excluded in the meaning of what stands before each record.
    private var excludedBefore: [Set<Int>] = []
    /// The joins and the invitations of each device, and the joins by each invitation that counts.
    private var joinsOf: [[Int]] = []
    private var invitationsOf: [[Int]] = []
    private var joinsBy: [Int: [Int]] = [:]
    /// The removals that count, each with the devices whose joins it has seen, and those of each device.
    private var removals: [Int: [Int]] = [:]
    private var removalsOf: [[Int]] = []
    /// The closes that count, by the number of the invitation.
    private var closes: [Int: [Int]] = [:]
    private var recovery: Set<Int> = []

    /// By what a device comes.
    private enum Source {
      case recovery
      case invitation(Int)
      /// Nothing by which a device can come, for this version.
      case nothing
    }

    init(_ all: some Collection<SpaceRecord>) {
      order(all)
      for (number, record) in records.enumerated() {
        excludedBefore.append(excluded(before: number, naming: record.parents.compactMap { numbers[$0] }))
        let isCounted = isCounted(number)
        counts.append(isCounted)
        switch record.operation {
        case .genesis: recovery.insert(authors[number])
        case .invite where isCounted: invitationsOf[authors[number]].append(number)
        case .join:
          joins.append(number)
          joinsOf[authors[number]].append(number)
          if case .invitation(let invitation) = source(of: number) { joinsBy[invitation, default: []].append(number) }
        case .remove(let removal) where isCounted:
          let seen = removal.devices.compactMap { deviceNumbers[$0] }.filter { hasJoined($0, before: number) }
          if !seen.isEmpty { removals[number] = seen }
          for device in seen { removalsOf[device].append(number) }
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
        let parents = Set(record.parents)
        missing[record.id] = parents.count
        for parent in parents { children[parent, default: []].append(record.id) }
      }
      var ready = byID.values.filter { $0.parents.isEmpty }.map(\.id).sorted()
      while !ready.isEmpty {
        var next: [SpaceDigest] = []
        for id in ready {
          guard let record = byID[id] else { continue }
          numbers[id] = records.count
          records.append(record)
          authors.append(number(of: record.author))
          for child in children[id] ?? [] {
            missing[child, default: 0] -= 1
            if missing[child] == 0 { next.append(child) }
          }
        }
        ready = next.sorted()
      }
      pasts = MembershipPasts(count: records.count)
      for (number, record) in records.enumerated() {
        // The latest first: what stands before one of them is not joined again.
        for parent in record.parents.compactMap({ numbers[$0] }).sorted(by: >) { pasts.add(parent, before: number) }
      }
      waiting = Set(byID.keys).subtracting(numbers.keys)
    }

    private mutating func number(of device: MemberID) -> Int {
      if let known = deviceNumbers[device] { return known }
      deviceNumbers[device] = devices.count
      devices.append(device)
      joinsOf.append([])
      invitationsOf.append([])
      removalsOf.append([])
      return devices.count - 1
    }

    private func source(of join: Int) -> Source {
      guard let number = invitation(of: join) else { return .nothing }
      switch records[number].operation {
      case .genesis: return .recovery
      case .invite(let invitation): return counts[number] && invitation.isKnown ? .invitation(number) : .nothing
      default: return .nothing
      }
    }

    /// The record that a join names as its invitation, if that stands before it.
    private func invitation(of join: Int) -> Int? {
      guard case .join(let content) = records[join].operation, let number = numbers[content.invitation],
        pasts.contains(number, before: join)
      else { return nil }
      return number
    }

    // MARK: What counts

    private func isCounted(_ number: Int) -> Bool {
      switch records[number].operation {
      case .genesis, .join: return true
      case .close(let invitation):
        guard let invitation = numbers[invitation], pasts.contains(invitation, before: number),
          case .invite = records[invitation].operation
        else { return false }
        return isPresent(authors[number], before: invitation)
      default: return isPresent(authors[number], before: number)
      }
    }

    private func isPresent(_ device: Int, before row: Int) -> Bool {
      if recovery.contains(device) { return true }
      return hasJoined(device, before: row) && !removalsOf[device].contains { pasts.contains($0, before: row) }
        && !excludedBefore[row].contains(device)
    }

    private func hasJoined(_ device: Int, before row: Int) -> Bool {
      joinsOf[device].contains { pasts.contains($0, before: row) }
    }

    // MARK: Who is excluded

    /// The devices that are excluded in the meaning of what stands before a row: some records, and all before these.
    private func excluded(before row: Int, naming parents: [Int]) -> Set<Int> {
      guard let latest = parents.max() else { return [] }
      var excluded = excludedBefore[latest]
      var next: [Int] = []
      func exclude(_ device: Int) { if excluded.insert(device).inserted { next.append(device) } }
      for parent in parents where parent != latest { excludedBefore[parent].forEach(exclude) }
      for number in pasts.numbers(before: row, andNotBefore: latest) {
        switch records[number].operation {
        case .join:
          if isCut(join: number, before: row, excluded) { exclude(authors[number]) }
        case .close(let invitation):
          guard let invitation = numbers[invitation], counts[number] else { continue }
          for join in lateJoins(by: invitation, than: number, before: row) { exclude(authors[join]) }
        case .remove:
          // Open invitations of a device that is removed end with it.
          for invitation in (removals[number] ?? []).flatMap({ invitationsOf[$0] }) {
            for join in lateJoins(by: invitation, than: number, before: row) { exclude(authors[join]) }
          }
        default: break
        }
      }
      while let device = next.popLast() {
        for invitation in invitationsOf[device] {
          for join in joinsBy[invitation] ?? [] where pasts.contains(join, before: row) { exclude(authors[join]) }
        }
      }
      return excluded
    }

    /// The joins by an invitation that the end of it has not seen.
    private func lateJoins(by invitation: Int, than end: Int, before row: Int) -> [Int] {
      (joinsBy[invitation] ?? []).filter { pasts.contains($0, before: row) && !pasts.contains($0, before: end) }
    }

    /// Whether a join is by nothing, by a device that is excluded, or by an invitation that has ended before it.
    private func isCut(join: Int, before row: Int, _ excluded: Set<Int>) -> Bool {
      switch source(of: join) {
      case .recovery: return false
      case .nothing: return true
      case .invitation(let invitation):
        let inviter = authors[invitation]
        let isCut = { (end: Int) in pasts.contains(end, before: row) && !pasts.contains(join, before: end) }
        return excluded.contains(inviter) || closes[invitation]?.contains(where: isCut) == true
          || removalsOf[inviter].contains(where: isCut)
      }
    }

    /// Whether a removal of the author had not seen a record.
    private func isVoid(_ number: Int) -> Bool {
      removalsOf[authors[number]].contains { !pasts.contains(number, before: $0) }
    }

    // MARK: The meaning of all

    func membership() -> Membership {
      var result = Membership()
      result.heads = Set(numbers.keys)
      for record in records { result.heads.subtract(record.parents) }
      let excluded = excluded(before: pasts.all, naming: result.heads.compactMap { numbers[$0] })
      result.waiting = waiting
      result.excluded = Set(excluded.map { devices[$0] })
      result.removed = Set(devices.indices.filter { !removalsOf[$0].isEmpty }.map { devices[$0] })
      let counted = joins.filter { !excluded.contains(authors[$0]) && removalsOf[authors[$0]].isEmpty }
      result.present = Set(counted.map { records[$0].author })
      result.closed = Set(closes.keys.map { records[$0].id })
      // Also by a device that is out, which may have come by another one as well: no invitation becomes unused again.
      result.used = Set(joins.compactMap { invitation(of: $0) }.map { records[$0].id })
      // And joins that do not count: they did for a device that had not heard of what puts them out.
      let numbersOfChanges = (removals.keys + joins + closes.values.joined()).sorted()
      result.changes = Set(numbersOfChanges.map { records[$0].id })
      var changes = MembershipPasts.Marks()
      for number in numbersOfChanges { changes.add(number) }
      for (number, record) in records.enumerated() {
        guard counts[number], !excluded.contains(authors[number]), !isVoid(number) else { continue }
        switch record.operation {
        case .invite(let invitation):
          let isPresent = recovery.contains(authors[number]) || result.present.contains(record.author)
          if !invitation.isKnown { result.hasNewer = true }
          if isPresent, invitation.isKnown, !result.closed.contains(record.id) { result.open.insert(record.id) }
        case .key(let key):
          result.keys[key.key, default: []].insert(record.id)
          if !pasts.hasAny(of: changes, before: pasts.all, andNotBefore: number) { result.usable.insert(key.key) }
        case .remove(let removal) where !removal.kept.isEmpty && removals[number] != nil:
          for device in removal.devices { result.kept[device, default: []].formUnion(removal.kept) }
        // Only a word that counts: a device that is out keeps no other from sealing.
        case .newer: result.hasNewer = true
        default: break
        }
      }
      return result
    }
  }
#endif

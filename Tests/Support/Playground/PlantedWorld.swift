import Synchronization
import TallyCRDT
import TallyFaults
import TallyStore
import TallySync
import TallyTesting
import TallyWire

extension StoreOptions {
  /// Puts a fault into a store. Without the trait `PlantedFaults` only those that its options can bring about.
  package mutating func plant(_ fault: PlantedFault) {
    if fault.contains(.publishedBeforeDurable) { flushesBeforeSync = false }
    if fault.contains(.restoredIDReused) { detectsCopies = false }
    if fault.contains(.losersNotJournalled) { conflictLimit = 0 }
    #if PlantedFaults
      planted = fault
    #endif
  }
}

/// The faults of what performs for sessions and mailboxes.
final class PlantedTampering: Tampering {
  private struct Way: Hashable {
    var sender: Int
    var receiver: Int
  }

  private struct State {
    /// What has ever been sent on each way.
    var sent: [Way: StateVector] = [:]
    /// Numbers files in the order of their coming.
    var numbers: [String: Int] = [:]
    var listed: [Int: (known: Set<String>, last: Int)] = [:]
  }

  private let planted: PlantedFault
  private let state = Mutex(State())

  init?(_ planted: PlantedFault) {
    guard !planted.isDisjoint(with: [.lateListingSkipped, .sentCountsAsReceived, .liveChangeClaimsReceiver]) else {
      return nil
    }
    self.planted = planted
  }

  func listing(_ items: [MailboxItem], by device: Int) -> [MailboxItem] {
    guard planted.contains(.lateListingSkipped) else { return items }
    return state.withLock { state in
      items.filter { item in
        let number = state.numbers[item.name] ?? 0
        var (known, last) = state.listed[device] ?? ([], 0)
        guard known.contains(item.name) || number > last else { return false }
        known.insert(item.name)
        last = max(last, number)
        state.listed[device] = (known, last)
        return true
      }
    }
  }

  func notePut(_ name: String) {
    state.withLock { if $0.numbers[name] == nil { $0.numbers[name] = $0.numbers.count + 1 } }
  }

  func wanted(_ asked: StateVector, from sender: Int, to receiver: Int) -> StateVector {
    guard planted.contains(.sentCountsAsReceived), !asked.isEmpty else { return asked }
    return state.withLock { $0.sent[Way(sender: sender, receiver: receiver)] }.map(asked.merging) ?? asked
  }

  func noteSent(_ target: StateVector, from sender: Int, to receiver: Int) {
    state.withLock { $0.sent[Way(sender: sender, receiver: receiver), default: StateVector()].merge(target) }
  }

  func live(_ header: DeltaHeader, own: () throws -> StateVector) throws -> DeltaHeader {
    guard planted.contains(.liveChangeClaimsReceiver) else { return header }
    var header = header
    header.target.merge(try own())
    return header
  }
}

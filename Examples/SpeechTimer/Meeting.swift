import Tally
import TallySync

/// Two people meet, and their devices sync.
struct Meeting: Hashable {
  let one: Owner
  let other: Owner

  /// Everybody with everybody.
  static let all = Owner.allCases.enumerated().flatMap { index, one in
    Owner.allCases.dropFirst(index + 1).map { Meeting(one: one, other: $0) }
  }

  @discardableResult
  func sync(_ group: Group) throws -> SyncReport {
    try group.device(one).store.sync(with: group.device(other).store)
  }

  /// Whether the two meetings can be at the same time.
  func isApart(from meeting: Meeting) -> Bool { Set([one, other]).isDisjoint(with: [meeting.one, meeting.other]) }
}

/// The orders in which everybody meets everybody once.
enum MeetingOrders {
  /// Every order: 720 for four people.
  static let all = permutations(Array(Meeting.all.indices)).map { $0.map { Meeting.all[$0] } }

  /// Every order but those that only swap neighbors who can meet at the same time: 426. What is left out is the same
  /// run.
  static let distinct = permutations(Array(Meeting.all.indices)).filter { order in
    zip(order, order.dropFirst()).allSatisfy { $0 < $1 || !Meeting.all[$0].isApart(from: Meeting.all[$1]) }
  }.map { $0.map { Meeting.all[$0] } }

  private static func permutations(_ numbers: [Int]) -> [[Int]] {
    guard numbers.count > 1 else { return [numbers] }
    return numbers.indices.flatMap { index in
      var rest = numbers
      let first = rest.remove(at: index)
      return permutations(rest).map { [first] + $0 }
    }
  }
}

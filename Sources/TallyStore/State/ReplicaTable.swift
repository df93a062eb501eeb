import TallyCRDT

/// The replicas that a file knows, by their numbers in it.
///
/// Each stamp that is read asks for one. Numbers are given from one on, so that most are places in an array; hashing
/// each would cost as much as reading the stamp.
package struct ReplicaTable: Sendable {
  /// Of the small numbers, each in its place.
  private var near: [ReplicaID?] = []
  private var far: [ReplicaNumber: ReplicaID] = [:]
  private static let nearest = 0..<1024

  package private(set) var count = 0

  package init() {}

  package subscript(number: ReplicaNumber) -> ReplicaID? {
    get {
      let place = number.rawValue
      return near.indices.contains(place) ? near[place] : far.isEmpty ? nil : far[number]
    }
    set {
      count += (newValue == nil ? 0 : 1) - (self[number] == nil ? 0 : 1)
      guard Self.nearest.contains(number.rawValue) else {
        far[number] = newValue
        return
      }
      while near.count <= number.rawValue { near.append(nil) }
      near[number.rawValue] = newValue
    }
  }

  /// All of them.
  package var values: [ReplicaID] { near.compactMap { $0 } + far.values }

  /// The number of each.
  var numbers: [ReplicaID: ReplicaNumber] {
    var numbers: [ReplicaID: ReplicaNumber] = [:]
    for (place, replica) in near.enumerated() { if let replica { numbers[replica] = ReplicaNumber(rawValue: place) } }
    for (number, replica) in far { numbers[replica] = number }
    return numbers
  }
}

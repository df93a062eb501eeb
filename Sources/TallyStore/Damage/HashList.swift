/// A sorted list of 64-bit hashes, for a pass that must remember every address it has read. Memory: eight bytes for
/// each hash.
struct HashList {
  private var hashes: [UInt64] = []

  /// The number of hashes that were added, equal ones included.
  var count: Int { hashes.count }

  /// The number of different hashes. Requires `sort()`.
  var distinctCount: Int {
    hashes.isEmpty ? 0 : 1 + zip(hashes, hashes.dropFirst()).count { $0 != $1 }
  }

  mutating func append(_ hash: UInt64) { hashes.append(hash) }

  /// Sorts the list, which `contains` and `distinctCount` require.
  mutating func sort() { hashes.sort() }

  /// Whether the list has the hash. Cost: a binary search.
  func contains(_ hash: UInt64) -> Bool {
    var (low, high) = (0, hashes.count)
    while low < high {
      let middle = (low + high) / 2
      if hashes[middle] < hash { low = middle + 1 } else { high = middle }
    }
    return low < hashes.count && hashes[low] == hash
  }
}

/// A sorted list of 64-bit hashes, for a pass that must remember every address it has read. Memory: eight bytes for
/// each hash, and a quarter more.
///
/// The hashes stand in buckets by their first byte. One array of a million hashes would take half as much again
/// whenever it grows, and while it is sorted.
package struct HashList {
  private var buckets = [[UInt64]](repeating: [], count: 256)

  /// The number of hashes that were added, equal ones included.
  package private(set) var count = 0

  package init() {}

  /// The number of different hashes. Requires `sort()`.
  package var distinctCount: Int {
    buckets.reduce(0) { sum, hashes in
      hashes.isEmpty ? sum : sum + 1 + zip(hashes, hashes.dropFirst()).count { $0 != $1 }
    }
  }

  package mutating func append(_ hash: UInt64) {
    let bucket = Self.bucket(of: hash)
    // An array grows to twice its size by itself.
    let size = buckets[bucket].count
    if size == buckets[bucket].capacity { buckets[bucket].reserveCapacity(size + size / 4 + 8) }
    buckets[bucket].append(hash)
    count += 1
  }

  /// Sorts the list, which `contains` and `distinctCount` require.
  package mutating func sort() { for bucket in buckets.indices { buckets[bucket].sort() } }

  /// Whether the list has the hash. Cost: a binary search.
  package func contains(_ hash: UInt64) -> Bool {
    let hashes = buckets[Self.bucket(of: hash)]
    var (low, high) = (0, hashes.count)
    while low < high {
      let middle = (low + high) / 2
      if hashes[middle] < hash { low = middle + 1 } else { high = middle }
    }
    return low < hashes.count && hashes[low] == hash
  }

  private static func bucket(of hash: UInt64) -> Int { Int(hash >> 56) }
}

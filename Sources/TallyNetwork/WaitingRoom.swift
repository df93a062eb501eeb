#if Network
  import NIOCore

  /// Guests of a listener that have not introduced themselves yet. There is room for so many; when it is full, one more
  /// coming in means that one goes.
  ///
  /// The one that goes has waited longest of those from the place that most of them come from. So a crowd from a few
  /// addresses turns out its own, however large it is, and never a guest from elsewhere; and a guest from the crowd's
  /// own address has as long as it takes for as many others to come as there is room for.
  package struct WaitingRoom {
    private let capacity: Int
    /// Those who have waited longest first.
    private var guests: [(id: Int, origin: [UInt8])] = []

    /// An empty room.
    /// - Parameter capacity: how many may wait; at least one may.
    package init(capacity: Int) { self.capacity = max(1, capacity) }

    /// The number of guests that wait.
    package var count: Int { guests.count }

    /// Lets a guest in, who comes from `origin`, as `origin(of:)` says.
    /// - Returns: the guest that has to go, never the one that has just come.
    package mutating func enter(_ id: Int, from origin: [UInt8]) -> Int? {
      guests.append((id, origin))
      guard guests.count > capacity else { return nil }
      let sizes = guests.dropLast().reduce(into: [origin: 1]) { $0[$1.origin, default: 0] += 1 }
      // The stranger that has just come is counted and not turned out, so another of its crowd is looked for.
      let largest = guests.dropLast().map { sizes[$0.origin] ?? 0 }.max() ?? 0
      guard let place = guests.dropLast().firstIndex(where: { sizes[$0.origin] == largest }) else { return nil }
      return guests.remove(at: place).id
    }

    /// A guest has introduced itself, or is gone.
    /// - Returns: whether it was still waiting.
    package mutating func leave(_ id: Int) -> Bool {
      guard let place = guests.firstIndex(where: { $0.id == id }) else { return false }
      guests.remove(at: place)
      return true
    }

    /// Returns what counts as one place: an IPv4 address, or the 64 bits of an IPv6 address that name the network,
    /// since the owner of one address of such a network has all of them (RFC 4291, 2.5.4).
    package static func origin(of address: SocketAddress?) -> [UInt8] {
      switch address {
      case .v4(let address): return withUnsafeBytes(of: address.address.sin_addr) { Array($0) }
      case .v6(let address):
        let bytes = withUnsafeBytes(of: address.address.sin6_addr) { Array($0) }
        // An IPv4 address in the dress of an IPv6 one (RFC 4291, 2.5.5.2).
        let isMapped = bytes.prefix(10).allSatisfy { $0 == 0 } && bytes[10...11] == [0xFF, 0xFF]
        return Array(isMapped ? bytes.suffix(4) : bytes.prefix(8))
      case .unixDomainSocket, nil: return []
      }
    }
  }
#endif

/// Finds peers that come and go: devices on the local network, by Bonjour or mDNS, or others that an app knows of.
///
/// Tally has no implementation of its own: the system's differ, and each needs a permission that only the app can ask
/// for. With `NWBrowser` or another browser it is a stream of what is there:
///
/// ```swift
/// struct Neighbors: PeerDiscovery {
///   let lists: AsyncStream<[any Transport]>
///   func peers() -> AsyncStream<[any Transport]> { lists }
/// }
/// ```
///
/// What is found is only an address. Whether it may sync, the transport decides: see `SharedSecret` and `TLSSettings`.
public protocol PeerDiscovery: Sendable {
  /// The transports to all peers that are there now, and again whenever that changes.
  ///
  /// A name stands for one address: a peer that is reached otherwise from now on gets another name, or is left out of
  /// one list in between.
  func peers() -> AsyncStream<[any Transport]>
}

extension SyncEngine {
  /// Adds the peers that a discovery finds, and removes those that it no longer finds, until its stream ends or the
  /// task is cancelled; then all of them are removed.
  ///
  /// ```swift
  /// let following = Task { await engine.follow(neighbors) }
  /// ```
  ///
  /// Peers that the app has added itself stay as they are, also if one of that name is found.
  /// - Parameter discovery: tells which peers are there.
  public func follow(_ discovery: any PeerDiscovery) async {
    var found = Set<String>()
    for await transports in discovery.peers() {
      let names = Set(transports.map(\.name))
      for name in found.subtracting(names) { await remove(name) }
      found.formIntersection(names)
      for transport in transports where !status.peers.contains(where: { $0.id == transport.name }) {
        found.insert(transport.name)
        await add(transport)
      }
    }
    for name in found { await remove(name) }
  }
}

/// Finds peers that come and go: devices on the local network, through Bonjour or mDNS, or others that an app knows of.
///
/// Tally has no implementation of its own: those of the systems differ, and each needs a permission that only the app
/// can request. With `NWBrowser` or another browser an implementation is a stream of the peers that are present:
///
/// ```swift
/// struct Neighbors: PeerDiscovery {
///   let lists: AsyncStream<[any Transport]>
///   func peers() -> AsyncStream<[any Transport]> { lists }
/// }
/// ```
///
/// A discovery only finds addresses. The transport decides whether a peer may sync: see `SharedSecret` and
/// `TLSSettings`.
public protocol PeerDiscovery: Sendable {
  /// Returns the transports to all peers that are present now, and the new list whenever it changes.
  ///
  /// A name stands for one address: give a peer whose address changes another name, or omit it from one list in
  /// between.
  func peers() -> AsyncStream<[any Transport]>
}

extension SyncEngine {
  /// Adds the peers that a discovery finds and removes those that it no longer finds, until its stream ends or the task
  /// is cancelled; then it removes all of them.
  ///
  /// ```swift
  /// let following = Task { await engine.follow(neighbors) }
  /// ```
  ///
  /// Peers that the app has added itself stay unchanged, even if the discovery finds one of the same name.
  /// - Parameter discovery: reports which peers are present.
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

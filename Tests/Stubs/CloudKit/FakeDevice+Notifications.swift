import Foundation

/// What is pushed to a device.
extension FakeDevice {
  /// Takes what arrives, as an app's delegate does.
  public func onNotification(_ receive: @escaping @Sendable ([AnyHashable: Any]) -> Void) {
    state.withLock { $0.receive = receive }
  }

  /// Whether notifications arrive as soon as they are sent. Otherwise they wait until a test delivers them.
  public var deliversAtOnce: Bool {
    get { state.withLock { $0.delivers } }
    set { state.withLock { $0.delivers = newValue } }
  }

  /// How many notifications are on their way.
  public var pendingNotifications: Int { state.withLock { $0.pending.count } }

  /// Delivers the oldest notification that is on its way.
  /// - Returns: whether there was one.
  @discardableResult
  public func deliver() -> Bool {
    guard let id = state.withLock({ $0.pending.isEmpty ? nil : $0.pending.removeFirst() }) else { return false }
    receive(id)
    return true
  }

  /// Delivers the last notification once more.
  /// - Returns: whether there was one.
  @discardableResult
  public func deliverAgain() -> Bool {
    guard let id = state.withLock({ $0.last }) else { return false }
    receive(id)
    return true
  }

  /// Loses what is on its way, as Apple's service may.
  public func loseNotifications() { state.withLock { $0.pending = [] } }

  /// A zone has changed that this device has subscribed to.
  func notify(_ id: String, of person: String) {
    let isNow = state.withLock { state in
      guard state.person == person else { return false }
      // Several changes are one notification.
      if !state.delivers, !state.pending.contains(id) { state.pending.append(id) }
      return state.delivers
    }
    if isNow { receive(id) }
  }

  private func receive(_ id: String) {
    let receive = state.withLock { state in
      state.last = id
      return state.receive
    }
    receive?(["aps": ["content-available": 1], "ck": ["sid": id]])
  }
}

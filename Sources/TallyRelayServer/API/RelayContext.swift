#if Relay
  import Hummingbird
  import NIOCore

  /// The context of a request: its connection.
  struct RelayContext: RequestContext {
    var coreContext: CoreRequestContextStorage
    let channel: any Channel

    init(source: ApplicationRequestContextSource) {
      coreContext = .init(source: source)
      channel = source.channel
    }
  }
#endif

#if Relay
  import HummingbirdCore
  import Logging
  import NIOCore
  import NIOSSL
  import Synchronization

  /// The certificate with which a relay speaks TLS, as it was read last. Connections keep the one that they began with.
  final class RelayCertificate: Sendable {
    private let files: RelaySettings.Certificate
    private let current = Mutex<NIOSSLContext?>(nil)

    init(_ files: RelaySettings.Certificate) { self.files = files }

    /// Reads both files. If they cannot be used, the certificate stays what it was.
    /// - Throws: `RelayStoreError` with `.badCertificate`.
    func load() throws {
      let context = try files.context()
      current.withLock { $0 = context }
    }

    /// The certificate for a new connection.
    /// - Throws: `RelayStoreError` if none was read.
    func context() throws -> NIOSSLContext {
      guard let context = current.withLock({ $0 }) else {
        throw RelayStoreError(.badCertificate, "no certificate was read")
      }
      return context
    }
  }

  extension RelaySettings.Certificate {
    fileprivate func context() throws -> NIOSSLContext {
      do {
        let chain = try NIOSSLCertificate.fromPEMFile(chainPath)
        var configuration = TLSConfiguration.makeServerConfiguration(
          certificateChain: chain.map { .certificate($0) },
          privateKey: .privateKey(try NIOSSLPrivateKey(file: keyPath, format: .pem)))
        configuration.minimumTLSVersion = .tlsv12
        // Whether both belong together is known when a context is made of them.
        return try NIOSSLContext(configuration: configuration)
      } catch {
        throw RelayStoreError(
          .badCertificate, "the certificate \(chainPath) and the key \(keyPath) cannot be used: \(error)")
      }
    }
  }

  /// Speaks TLS below another channel, with the certificate of the moment.
  struct CertificateChannel<Base: ServerChildChannel>: ServerChildChannel {
    let base: Base
    let certificate: RelayCertificate

    func setup(channel: any Channel, logger: Logger) -> EventLoopFuture<Base.Value> {
      do {
        try channel.pipeline.syncOperations.addHandler(NIOSSLServerHandler(context: try certificate.context()))
      } catch {
        return channel.eventLoop.makeFailedFuture(error)
      }
      return base.setup(channel: channel, logger: logger)
    }

    func handle(value: Base.Value, logger: Logger) async { await base.handle(value: value, logger: logger) }
  }

  extension ServerChildChannel {
    /// The same over TLS.
    func over(_ certificate: RelayCertificate) -> any ServerChildChannel {
      CertificateChannel(base: self, certificate: certificate)
    }
  }
#endif

#if Network
  import Crypto
  import Foundation
  import NIOCore
  import NIOSSL
  import TallySync

  /// The local TLS identity and the trust policy for peers. Files are PEM.
  public struct TLSSettings: Sendable {
    /// A certificate and the key that belongs to it.
    public struct Identity: Sendable {
      /// The file of the certificate and the intermediate certificates up to the root, in PEM.
      public var certificatePath: String
      /// The file of the certificate's private key, in PEM.
      public var keyPath: String

      /// Creates an identity from two PEM files, which are read when a connection is opened or a listener starts.
      /// - Parameters:
      ///   - certificatePath: the certificate, followed by the intermediate certificates up to an authority that the
      ///     peer trusts.
      ///   - keyPath: the private key of the first certificate, without a password.
      public init(certificatePath: String, keyPath: String) {
        self.certificatePath = certificatePath
        self.keyPath = keyPath
      }
    }

    /// The certificates that one side accepts from the other.
    public enum Trust: Sendable {
      /// Clients accept servers whose certificate is trusted by the system and bears the host's name. Servers behave as
      /// with `anybody`.
      case system
      /// Clients accept servers whose certificate comes from these authorities and bears the host's name. Servers
      /// accept only clients with a certificate from them.
      case authorities(path: String)
      /// Certificates are not checked. A client permits this only together with a secret, which is bound to the
      /// certificate.
      case anybody
    }

    /// The identity of this side; a server needs one.
    public var identity: Identity?
    /// The certificates that this side accepts from the other.
    public var trust: Trust

    /// Creates settings for one side.
    /// - Parameters:
    ///   - identity: the identity that this side presents. A listener needs one; a client needs one only if the
    ///     listener asks for it.
    ///   - trust: the certificates that this side accepts; by default those of the system's authorities.
    public init(identity: Identity? = nil, trust: Trust = .system) {
      self.identity = identity
      self.trust = trust
    }
  }

  // MARK: - Contexts

  extension NetworkSecurity {
    /// The role of one side of a connection.
    public enum Role: Sendable {
      /// The side that opens connections.
      case client
      /// The side that waits for connections.
      case server
    }

    /// Checks, before anybody connects, that certificates and keys exist and belong together.
    /// - Throws: `SyncError` of code `unauthorized` if they cannot be used.
    public func check(as role: Role) throws {
      do {
        switch role {
        case .client: _ = try clientContext()
        case .server: _ = try serverContext()
        }
      } catch let error where !(error is SyncError) {
        throw SyncError(.unauthorized, "the certificate, its key or the authorities cannot be used", cause: error)
      }
    }

    /// - Throws: `SyncError` or `NIOSSLError` if the files cannot be used.
    func clientContext() throws -> NIOSSLContext? {
      guard let tls else { return nil }
      var configuration = TLSConfiguration.makeClientConfiguration()
      configuration.minimumTLSVersion = .tlsv12
      if let (chain, key) = try tls.identity?.load() {
        configuration.certificateChain = chain.map { .certificate($0) }
        configuration.privateKey = .privateKey(key)
      }
      switch tls.trust {
      case .system: break
      case .authorities(let path): configuration.trustRoots = .certificates(try NIOSSLCertificate.fromPEMFile(path))
      case .anybody:
        guard secret != nil else {
          throw SyncError(.unauthorized, "a client that trusts any certificate needs a secret")
        }
        configuration.certificateVerification = .none
      }
      return try NIOSSLContext(configuration: configuration)
    }

    func serverContext() throws -> (context: NIOSSLContext, binding: [UInt8])? {
      guard let tls else { return nil }
      guard let (chain, key) = try tls.identity?.load(), let own = chain.first else {
        throw SyncError(.unauthorized, "a server needs a certificate")
      }
      var configuration = TLSConfiguration.makeServerConfiguration(
        certificateChain: chain.map { .certificate($0) }, privateKey: .privateKey(key))
      configuration.minimumTLSVersion = .tlsv12
      if case .authorities(let path) = tls.trust {
        configuration.trustRoots = .certificates(try NIOSSLCertificate.fromPEMFile(path))
        configuration.certificateVerification = .noHostnameVerification
      }
      return (try NIOSSLContext(configuration: configuration), try own.fingerprint())
    }
  }

  extension TLSSettings.Identity {
    fileprivate func load() throws -> ([NIOSSLCertificate], NIOSSLPrivateKey) {
      (try NIOSSLCertificate.fromPEMFile(certificatePath), try NIOSSLPrivateKey(file: keyPath, format: .pem))
    }
  }

  extension NIOSSLCertificate {
    /// Returns the fingerprint that binds a secret to the certificate.
    func fingerprint() throws -> [UInt8] { Array(SHA256.hash(data: try toDERBytes())) }
  }
#endif

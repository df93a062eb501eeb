#if Network
  /// How two sides that meet over a network authenticate each other, and whether their connection is encrypted.
  ///
  /// | | strangers are kept out | safe from reading and altering on the way |
  /// | --- | --- | --- |
  /// | `.none` | no | no: for one machine, or a tunnel that does it |
  /// | `.secret` | yes | no |
  /// | `.tls` with a certificate of the server | no | yes |
  /// | `.tls` with certificates on both sides | yes | yes |
  /// | `.tls` and a secret | yes | yes, even if the certificate is not checked: the secret is bound to it |
  public struct NetworkSecurity: Sendable {
    /// The secret that both sides must know; nil to ask for none.
    public var secret: SharedSecret?
    /// Encryption; nil for plain TCP.
    public var tls: TLSSettings?

    /// Creates any combination of a secret and TLS. Both sides need the same combination.
    /// - Parameters:
    ///   - secret: the secret that each side proves to the other that it knows; nil accepts every peer that TLS trusts.
    ///   - tls: encryption and certificates; nil sends everything unencrypted.
    public init(secret: SharedSecret? = nil, tls: TLSSettings? = nil) {
      self.secret = secret
      self.tls = tls
    }

    /// Neither encryption nor a secret.
    public static let none = NetworkSecurity()

    /// Returns security by a secret that both sides share, without encryption: for a network without eavesdroppers.
    ///
    /// The secret itself is never sent. An attacker on the network can read all data and, once both sides have
    /// introduced themselves, change it. On a network that you do not trust, use `.tls(_:secret:)`.
    public static func secret(_ secret: SharedSecret) -> NetworkSecurity { NetworkSecurity(secret: secret) }

    /// Returns security by encryption with certificates, optionally with a secret. With both, the secret is bound to
    /// the certificate, so no attacker in between can relay the proof.
    public static func tls(_ settings: TLSSettings, secret: SharedSecret? = nil) -> NetworkSecurity {
      NetworkSecurity(secret: secret, tls: settings)
    }
  }
#endif

// SPDX-License-Identifier: Apache-2.0
package io.weir.servers.testing;

import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.OutputStream;
import java.io.UncheckedIOException;
import java.math.BigInteger;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.GeneralSecurityException;
import java.security.KeyPair;
import java.security.KeyPairGenerator;
import java.security.KeyStore;
import java.security.SecureRandom;
import java.security.Signature;
import java.security.cert.Certificate;
import java.security.cert.CertificateFactory;
import java.security.spec.ECGenParameterSpec;
import java.time.Duration;
import java.time.Instant;
import java.time.ZoneOffset;
import java.time.format.DateTimeFormatter;
import java.util.Base64;
import java.util.HexFormat;
import javax.net.ssl.SSLContext;
import javax.net.ssl.TrustManagerFactory;
import javax.security.auth.x500.X500Principal;

/**
 * A certificate authority for tests. The certificates are PEM files and PKCS #12 key stores, and
 * are valid for a day. This class writes the DER encoding of RFC 5280 itself. The JDK can issue
 * certificates only with {@code keytool}, in another process. Not thread-safe.
 */
public final class TestCertificates {
  private static final char[] PASSWORD = "password".toCharArray();
  private static final String AUTHORITY = "authority";

  private static final int BIT_STRING = 3;
  private static final int OCTET_STRING = 4;
  private static final int UTC_TIME = 0x17;
  private static final int SEQUENCE = 0x30;
  private static final int VERSION = 0xa0;
  private static final int EXTENSIONS = 0xa3;

  /** The DER encoding of version 3. */
  private static final byte[] V3 = HexFormat.of().parseHex("020102");

  /** The DER encoding of ecdsa-with-SHA256 (1.2.840.10045.4.3.2). */
  private static final byte[] ALGORITHM = HexFormat.of().parseHex("300a06082a8648ce3d040302");

  /** The critical extension basicConstraints (2.5.29.19) of a certificate authority. */
  private static final byte[] IS_AUTHORITY =
      HexFormat.of().parseHex("300f0603551d130101ff040530030101ff");

  /** The identifier of the extension subjectAltName (2.5.29.17). */
  private static final byte[] ALTERNATIVE_NAME = HexFormat.of().parseHex("0603551d11");

  private static final int DNS_NAME = 0x82;
  private static final int IP_ADDRESS = 0x87;

  private final Path folder;
  private final KeyPair keys;
  private final Certificate authority;

  private TestCertificates(Path folder) {
    this.folder = folder;
    keys = newKeys();
    authority = sign(AUTHORITY, keys, IS_AUTHORITY);
    write(AUTHORITY, keys, authority);
  }

  /** Creates an authority that stores its files in the given folder. */
  public static TestCertificates in(Path folder) {
    return new TestCertificates(folder);
  }

  /** Issues a certificate with the given name for 127.0.0.1 and localhost. */
  public TestCertificates issue(String name) {
    byte[] hosts =
        der(
            SEQUENCE,
            der(IP_ADDRESS, new byte[] {127, 0, 0, 1}),
            der(DNS_NAME, "localhost".getBytes(StandardCharsets.US_ASCII)));
    KeyPair own = newKeys();
    Certificate certificate =
        sign(name, own, der(SEQUENCE, ALTERNATIVE_NAME, der(OCTET_STRING, hosts)));
    write(name, own, certificate, authority);
    return this;
  }

  /** Returns the file of the authority's certificate. */
  public Path authority() {
    return certificate(AUTHORITY);
  }

  /** Returns the file of a certificate. */
  public Path certificate(String name) {
    return file(name, "crt");
  }

  /** Returns the file of a certificate's private key. */
  public Path key(String name) {
    return file(name, "key");
  }

  /** Returns a TLS context for a client that trusts the authority and has no certificate. */
  public SSLContext trusting() {
    try {
      KeyStore trusted = KeyStore.getInstance("PKCS12");
      trusted.load(null, null);
      trusted.setCertificateEntry(AUTHORITY, authority);
      TrustManagerFactory trust =
          TrustManagerFactory.getInstance(TrustManagerFactory.getDefaultAlgorithm());
      trust.init(trusted);
      SSLContext context = SSLContext.getInstance("TLS");
      context.init(null, trust.getTrustManagers(), null);
      return context;
    } catch (IOException failed) {
      throw new UncheckedIOException(failed);
    } catch (GeneralSecurityException failed) {
      throw new IllegalStateException(failed);
    }
  }

  private static KeyPair newKeys() {
    try {
      KeyPairGenerator generator = KeyPairGenerator.getInstance("EC");
      generator.initialize(new ECGenParameterSpec("secp256r1"));
      return generator.generateKeyPair();
    } catch (GeneralSecurityException failed) {
      throw new IllegalStateException(failed);
    }
  }

  /** Returns a certificate for the subject's key, with one extension, signed by the authority. */
  private Certificate sign(String name, KeyPair subject, byte[] extension) {
    Instant now = Instant.now();
    byte[] unsigned =
        der(
            SEQUENCE,
            der(VERSION, V3),
            der(2, new BigInteger(64, new SecureRandom()).toByteArray()),
            ALGORITHM,
            principal(AUTHORITY),
            der(SEQUENCE, time(now.minus(Duration.ofHours(1))), time(now.plus(Duration.ofDays(1)))),
            principal(name),
            subject.getPublic().getEncoded(),
            der(EXTENSIONS, der(SEQUENCE, extension)));
    try {
      Signature signature = Signature.getInstance("SHA256withECDSA");
      signature.initSign(keys.getPrivate());
      signature.update(unsigned);
      byte[] signed = der(BIT_STRING, new byte[1], signature.sign());
      return CertificateFactory.getInstance("X.509")
          .generateCertificate(
              new ByteArrayInputStream(der(SEQUENCE, unsigned, ALGORITHM, signed)));
    } catch (GeneralSecurityException failed) {
      throw new IllegalStateException(failed);
    }
  }

  private byte[] principal(String name) {
    return new X500Principal("CN=" + name + " in " + folder.getFileName()).getEncoded();
  }

  private static byte[] time(Instant time) {
    String text =
        DateTimeFormatter.ofPattern("yyMMddHHmmss'Z'").withZone(ZoneOffset.UTC).format(time);
    return der(UTC_TIME, text.getBytes(StandardCharsets.US_ASCII));
  }

  /** Encodes a value that consists of the given parts. The value must be shorter than 64 KiB. */
  private static byte[] der(int tag, byte[]... parts) {
    ByteArrayOutputStream content = new ByteArrayOutputStream();
    for (byte[] part : parts) {
      content.writeBytes(part);
    }
    ByteArrayOutputStream encoded = new ByteArrayOutputStream();
    encoded.write(tag);
    int length = content.size();
    if (length > 0xff) {
      encoded.write(0x82); // the length has two bytes
      encoded.write(length >> 8);
    } else if (length > 0x7f) {
      encoded.write(0x81); // the length has one byte
    }
    encoded.write(length);
    encoded.writeBytes(content.toByteArray());
    return encoded.toByteArray();
  }

  private Path file(String name, String ending) {
    return folder.resolve(name + "." + ending);
  }

  private void write(String name, KeyPair subject, Certificate... chain) {
    try (OutputStream out = Files.newOutputStream(file(name, "p12"))) {
      Files.writeString(certificate(name), pem("CERTIFICATE", chain[0].getEncoded()));
      Files.writeString(key(name), pem("PRIVATE KEY", subject.getPrivate().getEncoded()));
      KeyStore store = KeyStore.getInstance("PKCS12");
      store.load(null, null);
      store.setKeyEntry(name, subject.getPrivate(), PASSWORD, chain);
      store.store(out, PASSWORD);
    } catch (IOException failed) {
      throw new UncheckedIOException(failed);
    } catch (GeneralSecurityException failed) {
      throw new IllegalStateException(failed);
    }
  }

  private static String pem(String kind, byte[] content) {
    return "-----BEGIN "
        + kind
        + "-----\n"
        + Base64.getMimeEncoder(64, new byte[] {'\n'}).encodeToString(content)
        + "\n-----END "
        + kind
        + "-----\n";
  }
}

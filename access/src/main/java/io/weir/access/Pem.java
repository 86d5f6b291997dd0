// SPDX-License-Identifier: Apache-2.0
package io.weir.access;

import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.GeneralSecurityException;
import java.security.KeyFactory;
import java.security.PrivateKey;
import java.security.Signature;
import java.security.cert.Certificate;
import java.security.cert.CertificateException;
import java.security.cert.CertificateFactory;
import java.security.spec.PKCS8EncodedKeySpec;
import java.util.Base64;
import java.util.List;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** Reads certificates and keys in PEM (RFC 7468). Stateless and thread-safe. */
final class Pem {
  private static final Pattern KEY =
      Pattern.compile("-----BEGIN PRIVATE KEY-----([^-]+)-----END PRIVATE KEY-----");

  private static final List<String> ALGORITHMS = List.of("RSA", "EC", "Ed25519");

  private Pem() {}

  /**
   * Returns the certificates of a file, in the order of the file.
   *
   * @throws IOException if the file has no certificate
   */
  static Certificate[] certificates(Path file) throws IOException {
    try {
      Certificate[] found =
          CertificateFactory.getInstance("X.509")
              .generateCertificates(new ByteArrayInputStream(Files.readAllBytes(file)))
              .toArray(Certificate[]::new);
      if (found.length == 0) {
        throw new IOException(file + " must have a certificate in PEM, but has none");
      }
      return found;
    } catch (CertificateException invalid) {
      throw new IOException(
          file + " must have valid certificates in PEM: " + invalid.getMessage(), invalid);
    }
  }

  /**
   * Requires that a key belongs to a certificate.
   *
   * @throws IOException if the key does not belong to the certificate
   */
  static void requirePair(PrivateKey key, Certificate certificate) throws IOException {
    String algorithm =
        switch (key.getAlgorithm()) {
          case "RSA" -> "SHA256withRSA";
          case "EC" -> "SHA256withECDSA";
          default -> "Ed25519";
        };
    boolean isPair;
    try {
      byte[] text = "weir".getBytes(StandardCharsets.US_ASCII);
      Signature signing = Signature.getInstance(algorithm);
      signing.initSign(key);
      signing.update(text);
      Signature verifying = Signature.getInstance(algorithm);
      verifying.initVerify(certificate);
      verifying.update(text);
      isPair = verifying.verify(signing.sign());
    } catch (GeneralSecurityException another) {
      throw new IOException("the key does not belong to the certificate", another);
    }
    if (!isPair) {
      throw new IOException("the key does not belong to the certificate");
    }
  }

  /**
   * Returns the key of a file in PKCS #8 without a password.
   *
   * @throws IOException if the file has no such key
   */
  static PrivateKey key(Path file) throws IOException {
    Matcher matcher = KEY.matcher(Files.readString(file, StandardCharsets.US_ASCII));
    if (!matcher.find()) {
      throw new IOException(
          file
              + " must have a key in PEM as PKCS #8 without a password ('openssl pkcs8 -topk8"
              + " -nocrypt' converts it)");
    }
    byte[] encoded;
    try {
      encoded = Base64.getMimeDecoder().decode(matcher.group(1));
    } catch (IllegalArgumentException malformed) {
      throw new IOException(file + " must have a key in Base64", malformed);
    }
    GeneralSecurityException last = null;
    for (String algorithm : ALGORITHMS) {
      try {
        return KeyFactory.getInstance(algorithm).generatePrivate(new PKCS8EncodedKeySpec(encoded));
      } catch (GeneralSecurityException another) {
        last = another;
      }
    }
    throw new IOException(file + " must have a key for one of the algorithms " + ALGORITHMS, last);
  }
}

// SPDX-License-Identifier: Apache-2.0
package io.weir.servers.testing;

import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.GeneralSecurityException;
import java.security.KeyStore;
import java.security.cert.CertificateFactory;
import java.util.ArrayList;
import java.util.Base64;
import java.util.List;
import javax.net.ssl.SSLContext;
import javax.net.ssl.TrustManagerFactory;

/**
 * A certificate authority for tests, which uses the JDK's {@code keytool}. Its certificates are PEM
 * files and valid for a day. Not thread-safe.
 */
public final class TestCertificates {
  private static final char[] PASSWORD = "password".toCharArray();
  private static final String AUTHORITY = "authority";

  private final Path folder;

  private TestCertificates(Path folder) {
    this.folder = folder;
  }

  /** Creates an authority that stores its files in the given folder. */
  public static TestCertificates in(Path folder) {
    TestCertificates certificates = new TestCertificates(folder);
    certificates.generate(AUTHORITY, "-ext", "bc:c");
    certificates.writePem(AUTHORITY);
    return certificates;
  }

  /** Issues a certificate with the given name for 127.0.0.1 and localhost. */
  public TestCertificates issue(String name) {
    generate(name);
    keytool(name, "-certreq", "-file", file(name, "csr").toString());
    keytool(
        AUTHORITY,
        "-gencert",
        "-validity",
        "1",
        "-ext",
        "san=ip:127.0.0.1,dns:localhost",
        "-infile",
        file(name, "csr").toString(),
        "-outfile",
        file(name, "cer").toString());
    keytool(name, "-importcert", "-noprompt", "-alias", AUTHORITY, "-file", authority().toString());
    keytool(name, "-importcert", "-noprompt", "-file", file(name, "cer").toString());
    writePem(name);
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
    try (InputStream in = Files.newInputStream(authority())) {
      KeyStore trusted = KeyStore.getInstance("PKCS12");
      trusted.load(null, null);
      trusted.setCertificateEntry(
          AUTHORITY, CertificateFactory.getInstance("X.509").generateCertificate(in));
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

  private Path file(String name, String ending) {
    return folder.resolve(name + "." + ending);
  }

  private void generate(String name, String... options) {
    List<String> command =
        new ArrayList<>(
            List.of("-genkeypair", "-keyalg", "EC", "-groupname", "secp256r1", "-validity", "1"));
    command.addAll(List.of("-dname", "CN=" + name + " in " + folder.getFileName()));
    command.addAll(List.of(options));
    keytool(name, command.toArray(String[]::new));
  }

  private void keytool(String store, String... options) {
    List<String> command = new ArrayList<>();
    command.add(Path.of(System.getProperty("java.home"), "bin", "keytool").toString());
    command.addAll(List.of(options));
    if (!command.contains("-alias")) {
      command.addAll(List.of("-alias", store));
    }
    command.addAll(List.of("-storetype", "PKCS12", "-keystore", file(store, "p12").toString()));
    command.addAll(List.of("-storepass", new String(PASSWORD)));
    try {
      Process process = new ProcessBuilder(command).redirectErrorStream(true).start();
      String said = new String(process.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
      if (process.waitFor() != 0) {
        throw new IllegalStateException("keytool: " + said);
      }
    } catch (IOException failed) {
      throw new UncheckedIOException(failed);
    } catch (InterruptedException interrupted) {
      Thread.currentThread().interrupt();
      throw new IllegalStateException(interrupted);
    }
  }

  private void writePem(String name) {
    try (InputStream in = Files.newInputStream(file(name, "p12"))) {
      KeyStore store = KeyStore.getInstance("PKCS12");
      store.load(in, PASSWORD);
      Files.writeString(
          certificate(name), pem("CERTIFICATE", store.getCertificate(name).getEncoded()));
      Files.writeString(key(name), pem("PRIVATE KEY", store.getKey(name, PASSWORD).getEncoded()));
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

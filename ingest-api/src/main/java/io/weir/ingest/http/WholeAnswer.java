// SPDX-License-Identifier: Apache-2.0
package io.weir.ingest.http;

import java.io.ByteArrayOutputStream;
import java.nio.ByteBuffer;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.LongConsumer;
import org.eclipse.jetty.server.Request;
import org.eclipse.jetty.server.Response;
import org.eclipse.jetty.util.BufferUtil;
import org.eclipse.jetty.util.Callback;

/**
 * The response of a servlet. The response is buffered until it is complete, and then written
 * without blocking a thread. Without the buffer, a caller that does not read would block the
 * servlet's thread. The servlet's responses have a size of some KiB. Used by one thread at a time.
 *
 * <p>This object is also the callback of the servlet, and completes the request's own callback when
 * the servlet has ended and the response is written.
 */
final class WholeAnswer extends Response.Wrapper implements Callback {
  private final Callback ending;
  private final LongConsumer complete;
  private ByteArrayOutputStream kept = new ByteArrayOutputStream();

  /**
   * Number of operations that have not ended: the work of the servlet, and later also the write of
   * the response.
   */
  private final AtomicInteger awaited = new AtomicInteger(1);

  /**
   * Creates an empty response.
   *
   * @param ending the request's own callback
   * @param complete receives the length of the complete response, which the server is writing or
   *     has written
   */
  WholeAnswer(Request request, Response response, Callback ending, LongConsumer complete) {
    super(request, response);
    this.ending = ending;
    this.complete = complete;
  }

  @Override
  public void write(boolean last, ByteBuffer content, Callback callback) {
    if (content != null) {
      byte[] bytes = BufferUtil.toArray(content);
      content.position(content.limit());
      kept.write(bytes, 0, bytes.length);
    }
    if (last) {
      awaited.incrementAndGet();
      byte[] whole = kept.toByteArray();
      kept =
          new ByteArrayOutputStream(
              0); // until the write ends, memory holds only the copy in the local variable
      super.write(true, ByteBuffer.wrap(whole), Callback.from(this::ended, ending::failed));
      complete.accept(whole.length);
    }
    callback.succeeded();
  }

  @Override
  public void reset() {
    kept.reset();
    super.reset();
  }

  private void ended() {
    if (awaited.decrementAndGet() == 0) {
      ending.succeeded();
    }
  }

  @Override
  public void succeeded() {
    ended();
  }

  @Override
  public void failed(Throwable failure) {
    ending.failed(failure);
  }

  @Override
  public InvocationType getInvocationType() {
    return ending.getInvocationType();
  }
}

// SPDX-License-Identifier: Apache-2.0
import java.io.PrintStream;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.hdfs.MiniDFSCluster;

/**
 * HDFS with one name node and one data node, on free ports of the loopback. Prints the port of the name node; ends when
 * its stdin ends. Run as a source file: java -cp ... HdfsServer.java folder
 */
public final class HdfsServer {
  public static void main(String[] arguments) throws Exception {
    // The log goes to the error stream: nobody reads the other one after the port, and a full pipe stops the server.
    PrintStream output = System.out;
    System.setOut(System.err);
    Configuration configuration = new Configuration();
    configuration.set(MiniDFSCluster.HDFS_MINIDFS_BASEDIR, arguments[0]);
    MiniDFSCluster cluster = new MiniDFSCluster.Builder(configuration).numDataNodes(1).build();
    output.println(cluster.getNameNodePort());
    while (System.in.read() >= 0) {}
    cluster.shutdown();
    System.exit(0);
  }
}
